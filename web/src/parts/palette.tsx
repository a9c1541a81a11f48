// Everything by the keyboard: type a few letters of a place, a query, or what to do with one.

import { useMemo, useState } from "preact/hooks";
import { title } from "../logic/live.ts";
import { act } from "../state/actions.ts";
import { mayChange, queries } from "../state/desk.ts";
import { knownShortcuts } from "../state/keys.ts";
import { go } from "../state/route.ts";
import { Dialog } from "./small.tsx";

interface Command {
  readonly name: string;
  readonly keys?: string;
  run(): void;
}

const MOST = 12;

export function Palette({ onClose }: { onClose(): void }) {
  const [text, setText] = useState("");
  const [place, setPlace] = useState(0);
  const all = useMemo(commands, []);
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const found = all
    .filter(({ name }) => words.every((word) => name.toLowerCase().includes(word)))
    .slice(0, MOST);
  const run = (command: Command | undefined) => {
    if (command === undefined) return;
    onClose();
    command.run();
  };
  const press = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      setPlace((place + step + found.length) % Math.max(1, found.length));
      event.preventDefault();
    } else if (event.key === "Enter") {
      run(found[place]);
      event.preventDefault();
    }
  };
  return (
    <Dialog title="Go to …" onClose={onClose}>
      <input
        class="palette-input"
        type="text"
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={found[place] && `palette-${place}`}
        aria-label="A place, a query, or what to do"
        placeholder="A place, a query, or what to do"
        autofocus
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setPlace(0);
        }}
        onKeyDown={press}
      />
      <ul class="palette" id="palette-list" role="listbox" aria-label="What fits">
        {found.map((command, number) => (
          <li
            role="option"
            id={`palette-${number}`}
            aria-selected={number === place}
            onClick={() => run(command)}
            onMouseMove={() => setPlace(number)}
          >
            {command.name}
            {command.keys !== undefined && <Keys keys={command.keys} />}
          </li>
        ))}
      </ul>
      {found.length === 0 && <p class="soft">Nothing fits.</p>}
    </Dialog>
  );
}

function commands(): Command[] {
  const everywhere = knownShortcuts()
    .filter(({ keys }) => keys !== "Ctrl K")
    .map(({ about, keys, run }) => ({ name: about, keys, run }));
  const ofQueries = queries.value.flatMap((query): Command[] => {
    const name = title(query);
    const looks = [
      { name: `${name}: results`, run: () => go("query", query.id) },
      { name: `${name}: time`, run: () => go("query", query.id, "time") },
    ];
    if (!mayChange.value) return looks;
    const paused = query.status === "paused" || query.status === "quarantined";
    return [
      ...looks,
      { name: `${name}: change`, run: () => go("query", query.id, "change") },
      paused
        ? { name: `${name}: resume`, run: () => void act(query, "resume") }
        : { name: `${name}: pause`, run: () => void act(query, "pause") },
    ];
  });
  return [...everywhere, ...ofQueries];
}

export function Keys({ keys }: { keys: string }) {
  return (
    <span class="keys">
      {keys.split(" ").map((key) => (
        <kbd>{key}</kbd>
      ))}
    </span>
  );
}

export function Help({ onClose }: { onClose(): void }) {
  const known = useMemo(knownShortcuts, []);
  return (
    <Dialog title="Keys" onClose={onClose}>
      <dl class="help">
        {known.map(({ keys, about }) => (
          <div>
            <dt>
              <Keys keys={keys} />
            </dt>
            <dd>{about}</dd>
          </div>
        ))}
        <div>
          <dt>
            <Keys keys="Ctrl Enter" />
          </dt>
          <dd>In the editor: preview</dd>
        </div>
        <div>
          <dt>
            <Keys keys="Esc Tab" />
          </dt>
          <dd>Leave the editor</dd>
        </div>
      </dl>
    </Dialog>
  );
}
