// What people do to queries: each says what came of it, and reads the list again.

import { api, asMistake } from "../api/client.ts";
import type { Commanded } from "../api/types.ts";
import { title, type LiveQuery } from "../logic/live.ts";
import { refresh } from "./desk.ts";
import { done, report } from "./notes.ts";

type Action = "pause" | "resume" | "drop" | "apply" | "discard";
const DONE: Record<Action, string> = {
  pause: "is paused",
  resume: "goes on",
  drop: "is dropped; its answers can be read for a day",
  apply: "is changed",
  discard: "stays as it was",
};

export async function act(query: LiveQuery, action: Action): Promise<boolean> {
  const answer = await attempt(() =>
    action === "drop" ? api.drop(query.id) : api.act(query.id, action),
  );
  if (answer !== undefined) {
    done(`${title(query)} ${DONE[action]}`);
    void inForce(answer);
  }
  return answer !== undefined;
}

/** Wait until a command is in force; say why if it was refused. */
export async function inForce(commanded: Commanded) {
  const found = await attempt(() => api.active(commanded.command, commanded.query.id));
  await refresh();
  return found;
}

/** Run a call; report what it refuses and return undefined. */
export async function attempt<Answer>(run: () => Promise<Answer>): Promise<Answer | undefined> {
  try {
    const answer = await run();
    void refresh();
    return answer;
  } catch (error) {
    report(asMistake(error));
    return undefined;
  }
}
