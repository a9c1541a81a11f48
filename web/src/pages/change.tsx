// Change a query: what differs, what is kept of its state, and what the new one answers beside it.

import { useState } from "preact/hooks";
import { api } from "../api/client.ts";
import type { Addition } from "../api/types.ts";
import { difference } from "../logic/difference.ts";
import { title, type LiveQuery } from "../logic/live.ts";
import { Code } from "../parts/code.tsx";
import { RowTable } from "../parts/rows.tsx";
import { Button, Confirm, MistakeBox } from "../parts/small.tsx";
import { WouldAdd } from "../parts/would-add.tsx";
import { act, attempt, inForce } from "../state/actions.ts";
import { useAnswers, type Answers } from "../state/answers.ts";
import { useChecked } from "../state/checking.ts";
import { mayChange, streams } from "../state/desk.ts";
import { done } from "../state/notes.ts";
import { go } from "../state/route.ts";

export function ChangeTab({ query, answers }: { query: LiveQuery; answers: Answers }) {
  if (query.staged !== null) return <Staged query={query} answers={answers} />;
  return <Write query={query} />;
}

function Write({ query }: { query: LiveQuery }) {
  const [text, setText] = useState(query.text);
  const [asked, setAsked] = useState(false);
  const checked = useChecked(text);
  const same = text.trim() === query.text.trim();
  const ready = !same && checked.mistakes.length === 0 && checked.text === text;
  const stage = async () => {
    const commanded = await attempt(() => api.stage(query.id, text));
    if (commanded !== undefined) await inForce(commanded);
  };
  const change = async () => {
    const commanded = await attempt(() => api.change(query.id, text));
    const active = commanded && (await inForce(commanded));
    if (active === undefined) return;
    done(`Generation ${active.generation} since micro-batch ${active.micro_batch}, filled from ${active.filled}`);
    go("query", query.id);
  };
  return (
    <div class="editor">
      <div class="editor-text">
        <Code
          text={text}
          onText={setText}
          mistakes={checked.mistakes}
          onRun={() => ready && void stage()}
          label={`New statement of ${title(query)}`}
        />
        <h2>What differs</h2>
        <Difference before={query.text} after={text} />
        {mayChange.value && (
          <div class="editor-tools">
            <Button kind="main" disabled={!ready} onClick={() => void stage()}>
              Run it beside
            </Button>
            <Button disabled={!ready} onClick={() => setAsked(true)}>
              Change now
            </Button>
            <Button disabled={same} onClick={() => setText(query.text)}>
              Undo
            </Button>
          </div>
        )}
      </div>
      <aside class="editor-side" aria-label="What the change does" aria-live="polite">
        {checked.mistakes.map((mistake) => (
          <MistakeBox mistake={mistake} />
        ))}
        <h2>What is kept</h2>
        <Kept query={query} addition={same ? null : checked.addition} />
        {!same && checked.addition !== null && (
          <WouldAdd addition={checked.addition} plan={checked.plan} />
        )}
      </aside>
      {asked && (
        <Confirm
          title={`Change ${title(query)} now?`}
          action="Change it"
          onYes={() => void change()}
          onClose={() => setAsked(false)}
        >
          <Difference before={query.text} after={text} />
          <p>It is in force from the next micro-batch on. “Run it beside” lets you compare first.</p>
        </Confirm>
      )}
    </div>
  );
}

export function Difference({ before, after }: { before: string; after: string }) {
  const pieces = difference(before, after);
  if (pieces.every(({ kind }) => kind === "same"))
    return <p class="soft">Nothing yet: edit the statement above.</p>;
  return (
    <pre class="difference" tabIndex={0} aria-label="What differs">
      {pieces.map(({ kind, text }) =>
        kind === "added" ? <ins>{text}</ins> : kind === "removed" ? <del>{text}</del> : text,
      )}
    </pre>
  );
}

/** The rules of a change, with what is known of this one. */
function Kept({ query, addition }: { query: LiveQuery; addition: Addition | null }) {
  const stream = streams.value.find(({ name }) => name === query.stream);
  const reached = stream?.punctuation ?? null;
  const until = reached === null ? "the punctuation then" : String(reached).replace("T", " ").slice(0, 19);
  return (
    <ul class="kept">
      <li>
        Its id, its name, and all answers so far stay: windows up to <strong>{until}</strong> belong to
        generation {query.generation}.
      </li>
      <li>
        Later windows belong to generation {query.generation + 1}; none is answered twice, none left out
        {stream?.keep === true ? "" : " from then on"}.
      </li>
      {addition !== null && (
        <li>
          {stream?.keep === true
            ? "The new one is filled from panes where they have what it wants, else from kept rows."
            : "The new one is filled from panes where they have what it wants; this stream keeps no rows."}
        </li>
      )}
      {addition !== null && addition.shared_with.includes(title(query)) && (
        <li>Both share panes, so the state of the old one serves the new one.</li>
      )}
    </ul>
  );
}

function Staged({ query, answers }: { query: LiveQuery; answers: Answers }) {
  const staged = useAnswers(query.id, query.staged);
  const next = staged.described.value?.generations.find(
    ({ generation }) => generation === query.staged,
  );
  return (
    <div class="staged">
      <p>
        Generation {query.staged} runs beside generation {query.generation}. Nobody else sees its answers
        until it is applied.
      </p>
      {next !== undefined && <Difference before={query.text} after={next.text} />}
      {staged.wrong.value !== null && <MistakeBox mistake={staged.wrong.value} />}
      {mayChange.value && (
        <div class="editor-tools">
          <Button kind="main" onClick={() => void act(query, "apply")}>
            Apply at the next micro-batch
          </Button>
          <Button onClick={() => void act(query, "discard")}>Discard</Button>
        </div>
      )}
      <div class="halves">
        <section>
          <h2>Now: generation {query.generation}</h2>
          <RowTable answers={answers} label="Answers of the current generation" />
        </section>
        <section>
          <h2>Beside: generation {query.staged}</h2>
          <RowTable answers={staged} label="Answers of the staged generation" />
        </section>
      </div>
    </div>
  );
}
