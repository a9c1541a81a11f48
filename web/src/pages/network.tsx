// The network: where rows go, how many, and where time is spent. A click opens a box.

import { graphlib, layout } from "@dagrejs/dagre";
import { useEffect, useMemo, useState } from "preact/hooks";
import { api, asMistake } from "../api/client.ts";
import type { Box, Mistake, Network, Rows, Tap } from "../api/types.ts";
import { bytes, cell, count, seconds, share, words } from "../logic/format.ts";
import {
  asTree,
  curveOf,
  endsOf,
  heats,
  routesOf,
  saved,
  widthOf,
  type Arranged,
  type Placed,
  type Route,
} from "../logic/graph.ts";
import { Button, Empty, Field, MistakeBox } from "../parts/small.tsx";
import { attempt } from "../state/actions.ts";
import { find, mayAsk } from "../state/desk.ts";
import { address, go } from "../state/route.ts";

const EVERY = 2000;
const HEIGHT = 54;
const NARROW = 700;

export function NetworkPage() {
  const [networks, setNetworks] = useState<Record<string, Network> | null>(null);
  const [wrong, setWrong] = useState<Mistake | null>(null);
  useEffect(() => {
    const look = () =>
      api.network().then(
        ({ streams }) => setNetworks(streams),
        (error: unknown) => setWrong(asMistake(error)),
      );
    void look();
    const timer = setInterval(look, EVERY);
    return () => clearInterval(timer);
  }, []);
  return (
    <section class="page">
      <header class="page-head">
        <h1>Network</h1>
        <p class="soft">Wide arrows carry many rows; warm boxes take much time.</p>
      </header>
      {wrong !== null && networks === null && <MistakeBox mistake={wrong} />}
      {networks !== null && Object.keys(networks).length === 0 && (
        <Empty title="No stream is declared yet" />
      )}
      {Object.values(networks ?? {}).map((network) => (
        <StreamGraph key={network.stream} network={network} />
      ))}
    </section>
  );
}

function StreamGraph({ network }: { network: Network }) {
  const [chosen, setChosen] = useState<string | null>(null);
  const narrow = useNarrow();
  // Boxes stay where they are while figures change: only other boxes or arrows move them.
  const form = JSON.stringify([
    network.boxes.map(({ id }) => id),
    network.arrows.map(endsOf),
    narrow,
  ]);
  const placed = useMemo(() => arranged(network, narrow), [form]);
  const { boxes, routes, width, height } = withFigures(placed, network);
  const box = boxes.find(({ id }) => id === chosen);
  return (
    <div class="graph-frame">
      <Saving network={network} />
      <div class="graph-and-side">
        <div class="graph" tabIndex={0} role="region" aria-label={`Network of ${network.stream}`}>
          <svg viewBox={`0 0 ${width} ${height}`} width={width} height={height}>
            <g aria-hidden="true">
              {routes.map((own) => (
                <Line route={own} lit={chosen !== null && (own.from === chosen || own.to === chosen)} />
              ))}
            </g>
            {boxes.map((own) => (
              <BoxShape
                key={own.id}
                box={own}
                chosen={own.id === chosen}
                onChoose={() => setChosen(own.id === chosen ? null : own.id)}
              />
            ))}
          </svg>
        </div>
        {box !== undefined && (
          <About key={box.id} box={box} network={network} onClose={() => setChosen(null)} />
        )}
      </div>
    </div>
  );
}

function useNarrow(): boolean {
  const [narrow, setNarrow] = useState(innerWidth < NARROW);
  useEffect(() => {
    const look = () => setNarrow(innerWidth < NARROW);
    addEventListener("resize", look);
    return () => removeEventListener("resize", look);
  }, []);
  return narrow;
}

function arranged(network: Network, narrow: boolean): Arranged {
  if (narrow) return asTree(network, innerWidth - 44, HEIGHT);
  const graph = new graphlib.Graph();
  graph.setGraph({ rankdir: "LR", nodesep: 14, ranksep: 84, marginx: 8, marginy: 8 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const box of network.boxes) graph.setNode(box.id, sizeOf(box));
  for (const arrow of network.arrows) graph.setEdge(...endsOf(arrow), {});
  layout(graph);
  const boxes = network.boxes.map((box): Placed => {
    const { x, y } = graph.node(box.id) as { x: number; y: number };
    const size = sizeOf(box);
    return { ...box, ...size, x: x - size.width / 2, y: y - size.height / 2, heat: null };
  });
  const { width = 0, height = 0 } = graph.graph() as { width?: number; height?: number };
  return { boxes, routes: routesOf(network, boxes, curveOf), width, height };
}

function sizeOf({ title }: Box) {
  return { width: Math.min(250, Math.max(140, title.length * 8.3 + 28)), height: HEIGHT };
}

function withFigures({ boxes, routes, ...size }: Arranged, network: Network): Arranged {
  const heat = heats(network.boxes);
  const rows = new Map(network.arrows.map((arrow) => [endsOf(arrow).join("\n"), arrow.rows]));
  const figures = new Map(network.boxes.map((box) => [box.id, box]));
  return {
    ...size,
    boxes: boxes.map((box) => ({ ...box, ...figures.get(box.id), heat: heat.get(box.id) ?? null })),
    routes: routes.map((route) => {
      const own = rows.get(`${route.from}\n${route.to}`) ?? null;
      return { ...route, rows: own, width: widthOf(own) };
    }),
  };
}

function Line({ route, lit }: { route: Route; lit: boolean }) {
  if (route.curve === null) return null;
  const { path, x, y } = route.curve;
  return (
    <g class={`arrow ${lit ? "arrow-lit" : ""} ${route.rows === null ? "arrow-fill" : ""}`}>
      <path d={path} stroke-width={route.width} />
      {route.rows !== null && (
        <text x={x} y={y - route.width / 2 - 4}>
          {count(route.rows)}
        </text>
      )}
    </g>
  );
}

function BoxShape({
  box,
  chosen,
  onChoose,
}: {
  box: Placed;
  chosen: boolean;
  onChoose(): void;
}) {
  const press = (event: KeyboardEvent) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    onChoose();
  };
  return (
    <g
      class={`box box-${box.kind.replace(" ", "-")} ${chosen ? "box-chosen" : ""}`}
      transform={`translate(${box.x},${box.y})`}
      role="button"
      tabIndex={0}
      aria-pressed={chosen}
      aria-label={`${shortened(box.title)} ${figureOf(box)}, ${box.kind}`}
      onClick={onChoose}
      onKeyDown={press}
    >
      <rect width={box.width} height={box.height} rx="9" class="box-ground" />
      {box.heat !== null && (
        <rect
          width={box.width}
          height={box.height}
          rx="9"
          class="box-heat"
          style={{ opacity: 0.08 + 0.5 * box.heat }}
        />
      )}
      <text x="12" y="22" class="box-title">
        {`${shortened(box.title)} `}
      </text>
      <text x="12" y="40" class="box-figure">
        {figureOf(box)}
      </text>
    </g>
  );
}

function shortened(text: string): string {
  return text.length > 30 ? `${text.slice(0, 29)}…` : text;
}

function figureOf(box: Placed): string {
  const { figures } = box;
  if (box.kind === "part") return `${share(box.heat)} of the time`;
  if (box.kind === "query") return `${count(Number(figures["answers"]))} answers`;
  if (box.kind === "sink") return `${count(Number(figures["delivered"]))} delivered`;
  if (box.kind === "connection point") return `${count(Number(figures["micro_batches"]))} micro-batches`;
  return `${count(Number(figures["rows"]))} rows`;
}

function Saving({ network }: { network: Network }) {
  const { queries, parts, rows, avoided } = saved(network);
  return (
    <p class="saving">
      <strong>{network.stream}</strong> is read once for {words(queries, "query", "queries")} in{" "}
      {words(parts, "part")}: {count(rows)} rows instead of {count(rows * Math.max(1, queries))},{" "}
      <strong>{count(avoided)} copies avoided</strong>.
    </p>
  );
}

const NAMES: Record<string, [string, (value: number) => string]> = {
  cpu_seconds: ["processor time", seconds],
  message_bytes: ["messages", bytes],
  state_bytes: ["state", bytes],
  micro_batches: ["micro-batches kept", count],
};

function About({
  box,
  network,
  onClose,
}: {
  box: Placed;
  network: Network;
  onClose(): void;
}) {
  const query = box.kind === "query" ? find(box.title) : undefined;
  const connectable = box.kind === "source" || box.kind === "connection point";
  const view = query !== undefined && query.cost?.runs_as === "rows chosen";
  return (
    <aside class="about" aria-label={`${box.kind} ${box.title}`}>
      <div class="section-head">
        <h2>{box.title}</h2>
        <Button icon="close" kind="quiet" label="Close" onClick={onClose} />
      </div>
      <p class="soft">{box.kind}</p>
      <dl>
        {Object.entries(box.figures).map(([name, value]) => {
          const [shown, written] = NAMES[name] ?? [name.replace(/_/g, " "), count];
          return (
            <div>
              <dt>{shown}</dt>
              <dd>{typeof value === "number" ? written(value) : value}</dd>
            </div>
          );
        })}
      </dl>
      {query !== undefined && <a href={address("query", query.id)}>Open the query</a>}
      {(connectable || view) && (
        <Button
          icon="plus"
          onClick={() => go("editor", undefined, undefined, { text: connected(box, network, view) })}
        >
          Connect a query here
        </Button>
      )}
      {mayAsk.value && (query !== undefined || box.kind === "source") && (
        <TapOf on={query?.id ?? network.stream} answers={query !== undefined} />
      )}
    </aside>
  );
}

function connected(box: Placed, network: Network, view: boolean): string {
  return `SELECT *\nFROM ${view ? box.title : network.stream}`;
}

const PLACES: readonly [string, string][] = [
  ["rows", "rows that it takes"],
  ["cells", "what they are combined to"],
  ["answers", "its answers"],
];

function TapOf({ on, answers }: { on: string; answers: boolean }) {
  const [at, setAt] = useState("rows");
  const [where, setWhere] = useState("");
  const [tap, setTap] = useState<Tap | null>(null);
  const [found, setFound] = useState<Rows | null>(null);
  useEffect(() => {
    if (tap === null || !tap.open) return undefined;
    const timer = setInterval(() => {
      void attempt(() => api.tapped(tap.id)).then((seen) => {
        if (seen === undefined) return;
        setFound(seen.rows);
        if (!seen.tap.open) setTap(seen.tap);
      });
    }, 1000);
    return () => clearInterval(timer);
  }, [tap?.id, tap?.open]);
  const open = async (event: Event) => {
    event.preventDefault();
    const condition = where === "" ? {} : { where };
    const made = await attempt(() => api.tap({ on, at, rows: 20, ttl: "5 minutes", ...condition }));
    if (made === undefined) return;
    setFound(null);
    setTap(made.tap);
  };
  return (
    <form class="tap" onSubmit={open}>
      <h3>Tap some rows</h3>
      {answers && (
        <Field label="Where">
          <select value={at} onChange={(event) => setAt(event.currentTarget.value)}>
            {PLACES.map(([place, name]) => (
              <option value={place}>{name}</option>
            ))}
          </select>
        </Field>
      )}
      {at === "rows" && (
        <Field label="Only where">
          <input
            value={where}
            placeholder="speed < 20"
            onInput={(event) => setWhere(event.currentTarget.value)}
          />
        </Field>
      )}
      <Button icon="tap" type="submit">
        Tap 20 rows
      </Button>
      {tap !== null && (
        <p class="soft" role="status">
          {tap.open ? "open, " : "closed, "}
          {words(found?.count ?? 0, "row")} copied
        </p>
      )}
      {found !== null && found.rows.length > 0 && <Tapped found={found} />}
    </form>
  );
}

function Tapped({ found }: { found: Rows }) {
  return (
    <div class="rows rows-short" tabIndex={0} role="region" aria-label="Rows of the tap">
      <table>
        <thead>
          <tr>
            {found.columns.map(({ name }) => (
              <th>{name}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {found.rows.map((row) => (
            <tr>
              {found.columns.map(({ name }) => (
                <td>{cell(row[name])}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
