// What a query would cost and share, before it starts.

import type { Addition } from "../api/types.ts";
import { bytes, words } from "../logic/format.ts";

export function WouldAdd({ addition, plan }: { addition: Addition; plan: string | null }) {
  const shared = addition.shared_with;
  return (
    <div class="would-add">
      <p class="would-add-main">
        {shared.length === 0 ? (
          <>
            Runs <strong>alone</strong>
          </>
        ) : (
          <>
            Shares the work with <strong>{words(shared.length, "query", "queries")}</strong>
          </>
        )}
        , and adds at most <strong>{bytes(addition.state_bytes)}</strong> of state.
      </p>
      <dl>
        <Fact name="Runs as">{addition.runs_as}</Fact>
        {shared.length > 0 && <Fact name="Shared with">{shared.join(", ")}</Fact>}
        <Fact name="Rows that it takes">{rowsTaken(addition)}</Fact>
        <Fact name="New edges of panes">{addition.new_edges.join(", ") || "none"}</Fact>
        <Fact name="New columns of cells">{String(addition.new_accumulators)}</Fact>
        <Fact name="Begins">
          {addition.how}, filled from {addition.filled}
        </Fact>
      </dl>
      {addition.budget !== null && <BudgetBar addition={addition} />}
      {plan !== null && (
        <details>
          <summary>The plan in words</summary>
          <pre tabIndex={0}>{plan}</pre>
        </details>
      )}
    </div>
  );
}

function Fact({ name, children }: { name: string; children: preact.ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function rowsTaken({ same_predicate: same }: Addition): string {
  if (same === null) return "all";
  return same.length === 0 ? "those of a new condition" : `the same as ${same.join(", ")}`;
}

function BudgetBar({ addition }: { addition: Addition }) {
  const { used_bytes: used, state_bytes: added, budget } = addition;
  const most = Math.max(budget ?? 1, used + added);
  return (
    <div class={`budget ${addition.fits ? "" : "budget-over"}`}>
      <div class="budget-bar" aria-hidden="true">
        <span class="budget-used" style={{ width: `${(100 * used) / most}%` }} />
        <span class="budget-added" style={{ width: `${(100 * added) / most}%` }} />
      </div>
      <p>
        {bytes(used)} of {bytes(budget)} are taken:{" "}
        <strong>{addition.fits ? "it fits" : "it would be refused"}</strong>
      </p>
    </div>
  );
}
