// Too much: what each query wants, what there is to spend, and what was left out.

import { useEffect, useState } from "preact/hooks";
import { api, asMistake } from "../api/client.ts";
import type { Budget, Mistake, Point, Quality } from "../api/types.ts";
import { bytes, count, seconds, share } from "../logic/format.ts";
import { freshness, title } from "../logic/live.ts";
import { domain, worthAt } from "../logic/quality.ts";
import { Empty, MistakeBox } from "../parts/small.tsx";
import { queries, streams } from "../state/desk.ts";
import { address } from "../state/route.ts";

const EVERY = 2000;

export function OverloadPage() {
  const [qos, setQos] = useState<readonly Quality[] | null>(null);
  const [budgets, setBudgets] = useState<readonly Budget[]>([]);
  const [wrong, setWrong] = useState<Mistake | null>(null);
  useEffect(() => {
    const look = async () => {
      try {
        const [graphs, limits] = await Promise.all([api.qos(), api.budgets()]);
        setQos(graphs);
        setBudgets(limits);
        setWrong(null);
      } catch (error) {
        setWrong(asMistake(error));
      }
    };
    void look();
    const timer = setInterval(() => void look(), EVERY);
    return () => clearInterval(timer);
  }, []);
  return (
    <section class="page">
      <header class="page-head">
        <h1>Too much</h1>
        <p class="soft">What matters to whom, what there is to spend, and what was left out.</p>
      </header>
      {wrong !== null && <MistakeBox mistake={wrong} />}
      <h2>Load</h2>
      <Load />
      <h2>Budgets</h2>
      {budgets.length === 0 ? <Nothing what="budget" /> : <Budgets budgets={budgets} />}
      <h2>Quality of service</h2>
      {qos === null || qos.length === 0 ? (
        <Nothing what="quality of service" />
      ) : (
        <div class="qualities">
          {qos.map((quality) => (
            <QualityOf key={quality.query} quality={quality} />
          ))}
        </div>
      )}
    </section>
  );
}

function Nothing({ what }: { what: string }) {
  return (
    <Empty title="Nothing asked for">
      <p>No query has a {what}. Every row counts in every answer, and nothing is shed.</p>
    </Empty>
  );
}

/** What is measured whether somebody asked for it or not: who takes the time, who is late. */
function Load() {
  const busy = [...queries.value].sort((one, other) => (other.share ?? 0) - (one.share ?? 0));
  return (
    <div class="load">
      <ul class="streams">
        {streams.value.map(({ name, rows, state_bytes, micro_batch }) => (
          <li>
            <strong>{name}</strong>
            <span>{count(rows)} rows</span>
            <span>{bytes(state_bytes)} of state</span>
            <span>micro-batch {micro_batch ?? "–"}</span>
          </li>
        ))}
      </ul>
      <div class="rows rows-short" tabIndex={0} role="region" aria-label="Load of the queries">
        <table>
          <thead>
            <tr>
              <th>query</th>
              <th class="number">share of the work</th>
              <th class="number">fresh to</th>
              <th class="number">late</th>
              <th class="number">refused</th>
              <th class="number">shed</th>
            </tr>
          </thead>
          <tbody>
            {busy.slice(0, 20).map((query) => (
              <tr key={query.id}>
                <td>
                  <a href={address("query", query.id)}>{title(query)}</a>
                </td>
                <td class="number">{share(query.share)}</td>
                <td class="number">{seconds(freshness(query))}</td>
                <td class="number">{count(query.cost?.late)}</td>
                <td class="number">{count(query.cost?.refused)}</td>
                <td class="number">{count(query.cost?.shed)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}

function Budgets({ budgets }: { budgets: readonly Budget[] }) {
  return (
    <ul class="budgets">
      {budgets.map(({ name, used, limit, unit }) => (
        <li>
          <strong>{name}</strong>
          <meter min={0} max={limit} value={used} high={limit * 0.9} aria-label={name} />
          <span>
            {unit === "bytes" ? bytes(used) : count(used)} of{" "}
            {unit === "bytes" ? bytes(limit) : `${count(limit)} ${unit}`}
          </span>
        </li>
      ))}
    </ul>
  );
}

function QualityOf({ quality }: { quality: Quality }) {
  return (
    <article class="quality">
      <h3>
        <a href={address("query", quality.query)}>{quality.query}</a>
      </h3>
      {quality.graphs.map(({ about, points, now, worth }) => (
        <figure>
          <Graph points={points} now={now} about={`${about} of ${quality.query}`} />
          <figcaption>
            {about}: {now === null ? "not measured yet" : `now ${count(now)}`}
            {worth !== null && `, worth ${share(worth)}`}
          </figcaption>
        </figure>
      ))}
      <p class="soft">
        {quality.shed == null || quality.shed === 0
          ? "Nothing was shed."
          : `${count(quality.shed)} rows shed${quality.policy ? ` by ${quality.policy}` : ""}.`}{" "}
        {quality.cost}
      </p>
    </article>
  );
}

const SIZE = { width: 220, height: 90, edge: 8 };

function Graph({
  points,
  now,
  about,
}: {
  points: readonly Point[];
  now: number | null;
  about: string;
}) {
  const { width, height, edge } = SIZE;
  const [from, to] = domain(points, now);
  const left = (x: number) => edge + ((x - from) / Math.max(1e-9, to - from)) * (width - 2 * edge);
  const top = (y: number) => height - edge - y * (height - 2 * edge);
  const line = points.map(([x, y]) => `${left(x)},${top(y)}`).join(" ");
  return (
    <svg class="qos" viewBox={`0 0 ${width} ${height}`} role="img" aria-label={about}>
      <polyline points={line} />
      {now !== null && <circle cx={left(now)} cy={top(worthAt(points, now))} r="5" />}
    </svg>
  );
}
