// What was refused, why, and how late it was.

import { useEffect, useState } from "preact/hooks";
import { api, asMistake } from "../api/client.ts";
import type { Mistake, Refused } from "../api/types.ts";
import { cell, count, share } from "../logic/format.ts";
import type { LiveQuery } from "../logic/live.ts";
import { Empty, MistakeBox } from "../parts/small.tsx";

const ABOUT: Record<string, string> = {
  late: "came after the windows they belong to had closed",
  refused: "were dropped: late, without a time, before the origin, or tied",
  between: "lie between windows, and so in none",
  shed: "were left out because there were too many",
};
const EVERY = 2000;

export function Refusals({ query }: { query: LiveQuery }) {
  const [found, setFound] = useState<Refused | null>(null);
  const [wrong, setWrong] = useState<Mistake | null>(null);
  useEffect(() => {
    const look = () =>
      api.refused(query.id).then(setFound, (error: unknown) => setWrong(asMistake(error)));
    void look();
    const timer = setInterval(look, EVERY);
    return () => clearInterval(timer);
  }, [query.id]);
  if (wrong !== null) return <MistakeBox mistake={wrong} />;
  if (found === null) return <p class="waiting">…</p>;
  const rows = query.cost?.rows ?? 0;
  const reasons = Object.entries(found.counts);
  if (reasons.every(([, amount]) => amount === 0))
    return (
      <Empty title="Nothing was refused">
        <p>All {count(rows)} rows that it read are used, or were not asked for.</p>
      </Empty>
    );
  return (
    <>
      <ul class="reasons">
        {reasons.map(([reason, amount]) => (
          <li>
            <strong>{count(amount)}</strong>
            <span>{reason}</span>
            <span class="soft">{ABOUT[reason]}</span>
            <meter
              min={0}
              max={Math.max(1, rows)}
              value={amount}
              aria-label={`${reason}: ${share(rows === 0 ? 0 : amount / rows)} of the rows`}
            />
          </li>
        ))}
      </ul>
      {found.rows.length > 0 ? (
        <RefusedRows found={found} />
      ) : (
        <p class="soft">
          {found.kept
            ? "The rows themselves are gone."
            : "The engine counts refused rows and does not keep them. To see some of them, tap the rows of the query in the network."}
        </p>
      )}
    </>
  );
}

function RefusedRows({ found }: { found: Refused }) {
  const names = Object.keys(found.rows[0] ?? {});
  return (
    <div class="rows rows-short" tabIndex={0} role="region" aria-label="Refused rows">
      <table>
        <thead>
          <tr>
            {names.map((name) => (
              <th>{name}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {found.rows.map((row) => (
            <tr>
              {names.map((name) => (
                <td>{cell(row[name])}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
