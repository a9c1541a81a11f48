// One query: its results as they come, its time, what was refused, and how to change it.

import { useEffect, useState } from "preact/hooks";
import { api } from "../api/client.ts";
import type { Query } from "../api/types.ts";
import { count, rate, seconds, share, words } from "../logic/format.ts";
import { freshness, title, type LiveQuery } from "../logic/live.ts";
import { Later } from "../parts/later.tsx";
import { Button, Confirm, Empty, Field, MistakeBox, Panel, State, Tabs } from "../parts/small.tsx";
import { act, attempt } from "../state/actions.ts";
import { useAnswers } from "../state/answers.ts";
import { find, mayChange } from "../state/desk.ts";
import { addShortcuts } from "../state/keys.ts";
import { done } from "../state/notes.ts";
import { go, route } from "../state/route.ts";
import { Refusals } from "./refusals.tsx";
import { Results } from "./results.tsx";

const TABS = [
  { id: "results", name: "Results" },
  { id: "time", name: "Time" },
  { id: "refused", name: "Refused" },
  { id: "change", name: "Change" },
] as const;

const timeTab = () => import("./time.tsx").then(({ TimeTab }) => TimeTab);
const changeTab = () => import("./change.tsx").then(({ ChangeTab }) => ChangeTab);

export function QueryPage({ id }: { id: string }) {
  const answers = useAnswers(id);
  const query = find(id);
  const tab = route.value.tab ?? "results";
  const choose = (chosen: string) => go("query", id, chosen);
  useEffect(
    () =>
      addShortcuts(
        TABS.map((known, place) => ({
          keys: String(place + 1),
          about: `${known.name} of this query`,
          run: () => go("query", id, known.id),
        })),
      ),
    [id],
  );
  if (answers.wrong.value !== null)
    return (
      <section class="page">
        <header class="page-head">
          <h1>{id}</h1>
        </header>
        <MistakeBox mistake={answers.wrong.value} />
      </section>
    );
  if (query === undefined)
    return (
      <section class="page">
        <Empty title={`${id} does not run`}>
          <p>It was dropped, or its time is over.</p>
          <Button onClick={() => go("queries")}>All queries</Button>
        </Empty>
      </section>
    );
  const refused = query.cost?.refused ?? 0;
  const tabs = TABS.map((known) => {
    if (known.id === "refused") return { ...known, mark: refused === 0 ? null : count(refused) };
    if (known.id === "change") return { ...known, mark: query.staged === null ? null : "staged" };
    return known;
  });
  return (
    <section class="page">
      <Head query={query} />
      <Figures query={query} />
      <Tabs tabs={tabs} chosen={tab} onChoose={choose} label={`About ${title(query)}`} />
      <Panel id={tab}>
        {tab === "results" && <Results answers={answers} query={query} />}
        {tab === "time" && <Later load={timeTab} given={{ query, answers }} />}
        {tab === "refused" && <Refusals query={query} />}
        {tab === "change" && <Later load={changeTab} given={{ query, answers }} />}
      </Panel>
    </section>
  );
}

function Head({ query }: { query: LiveQuery }) {
  const [dropping, setDropping] = useState(false);
  const stands = query.status === "paused" || query.status === "quarantined";
  return (
    <header class="page-head">
      <h1>{title(query)}</h1>
      <State status={query.status} reason={query.reason} />
      <p class="soft">
        {[query.owner, `over ${query.stream}`, `generation ${query.generation}`]
          .filter(Boolean)
          .join(" · ")}
      </p>
      <div class="page-tools">
        {query.preview && <Keep query={query} />}
        {mayChange.value && (
          <>
            <Button
              icon={stands ? "play" : "pause"}
              onClick={() => void act(query, stands ? "resume" : "pause")}
            >
              {stands ? "Resume" : "Pause"}
            </Button>
            <Button icon="drop" onClick={() => setDropping(true)}>
              Drop
            </Button>
          </>
        )}
      </div>
      {query.reason !== null && <p class="reason">{query.reason}</p>}
      {query.description !== null && query.description !== "" && <p>{query.description}</p>}
      {dropping && (
        <Confirm
          title={`Drop ${title(query)}?`}
          action="Drop it"
          onYes={() => void act(query, "drop").then((ok) => ok && go("queries"))}
          onClose={() => setDropping(false)}
        >
          <p>It makes no more answers. Those that are there can be read by its id for a day.</p>
        </Confirm>
      )}
    </header>
  );
}

export function Keep({ query, onKept }: { query: Pick<Query, "id">; onKept?(): void }) {
  const [name, setName] = useState("");
  const keep = async (event: Event) => {
    event.preventDefault();
    const kept = await attempt(() => api.keep(query.id, name));
    if (kept === undefined) return;
    done(`${name} stays, with the answers that it has`);
    onKept?.();
  };
  return (
    <form class="keep" onSubmit={keep}>
      <Field label="Keep it as">
        <input required value={name} onInput={(event) => setName(event.currentTarget.value)} />
      </Field>
      <Button kind="main" type="submit" disabled={name === ""}>
        Keep
      </Button>
    </form>
  );
}

function Figures({ query }: { query: LiveQuery }) {
  const { cost, freshness: parts } = query;
  const figures: [string, string, string][] = [
    ["rows a second", rate(query.rate), "of the stream, that it reads"],
    [
      "used",
      cost?.selectivity == null ? count(cost?.used) : `${count(cost.used)} (${share(cost.selectivity)})`,
      "rows that count in its answers",
    ],
    [
      "age of the newest answer",
      seconds(freshness(query)),
      `input lag ${seconds(parts?.input_lag)} + wait for disorder ${seconds(parts?.disorder_wait)} + own work ${seconds(parts?.own_work)}`,
    ],
    ["answers", count(cost?.answers), "rows"],
    [
      "runs as",
      cost?.runs_as ?? "not begun",
      cost === null || cost.shared_with.length === 0
        ? "alone"
        : `shared with ${words(cost.shared_with.length, "other")}: ${cost.shared_with.join(", ")}`,
    ],
  ];
  return (
    <dl class="figures">
      {figures.map(([name, value, about]) => (
        <div title={about}>
          <dt>{name}</dt>
          <dd>{value}</dd>
          <dd class="figures-about">{about}</dd>
        </div>
      ))}
    </dl>
  );
}
