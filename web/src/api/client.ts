// Calls of the service. What it refuses is raised as a Refusal, with its own words.

import type {
  Active,
  Addition,
  Budget,
  Catalog,
  Commanded,
  Described,
  Mistake,
  Network,
  Quality,
  Query,
  Refused,
  Rows,
  Session,
  Stream,
  Tap,
} from "./types.ts";

export const BASE = "api/v1";

export class Refusal extends Error {
  constructor(readonly mistake: Mistake) {
    super(mistake.what);
    this.name = "Refusal";
  }
}

export function asMistake(error: unknown): Mistake {
  if (error instanceof Refusal) return error.mistake;
  const what = error instanceof Error ? error.message : String(error);
  return { kind: "Error", what, where: null, would_work: null, message: what };
}

async function call<Answer>(method: string, path: string, body?: unknown): Promise<Answer> {
  let response: Response;
  try {
    response = await fetch(`${BASE}${path}`, {
      method,
      credentials: "same-origin",
      ...(body === undefined
        ? {}
        : { headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) }),
    });
  } catch {
    throw new Refusal(
      mistake("the server does not answer", "wait, or start it again: muntin serve HOME"),
    );
  }
  const text = await response.text();
  const data: unknown = text === "" ? {} : parsed(text);
  if (response.ok) return data as Answer;
  const refused = (data as { error?: Mistake } | null)?.error;
  throw new Refusal(refused ?? mistake(`the server answered ${response.status}`, null));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function mistake(what: string, would_work: string | null): Mistake {
  return { kind: "HttpError", what, where: null, would_work, message: what };
}

const named = encodeURIComponent;

export const api = {
  session: () => call<Session>("GET", "/session"),
  logIn: (token: string) => call<Session>("POST", "/session", { token }),
  logOut: () => call<object>("DELETE", "/session"),

  queries: () => call<{ queries: Query[] }>("GET", "/queries").then(({ queries }) => queries),
  query: (id: string) => call<Described>("GET", `/queries/${named(id)}`),
  register: (query: {
    name: string;
    text: string;
    owner?: string;
    tags?: string[];
    start?: string;
    emit?: string;
  }) => call<Commanded>("POST", "/queries", query),
  preview: (text: string, ttl: string) => call<Commanded>("POST", "/previews", { text, ttl }),
  keep: (id: string, name: string) =>
    call<{ query: Query }>("POST", `/queries/${named(id)}/keep`, { name }),
  drop: (id: string) => call<Commanded>("DELETE", `/queries/${named(id)}`),
  act: (id: string, action: "pause" | "resume" | "apply" | "discard") =>
    call<Commanded>("POST", `/queries/${named(id)}/${action}`),
  stage: (id: string, text: string) =>
    call<Commanded>("POST", `/queries/${named(id)}/stage`, { text }),
  change: (id: string, text: string) => call<Commanded>("PUT", `/queries/${named(id)}`, { text }),
  active: (command: number, id: string, timeout = 60) =>
    call<{ active: Active }>(
      "GET",
      `/commands/${command}?query=${named(id)}&timeout=${timeout}`,
    ).then(({ active }) => active),
  explain: (id: string) => call<{ plan: string }>("GET", `/queries/${named(id)}/explain`),
  results: (id: string, options: { limit?: number; generation?: number; newest?: boolean }) =>
    call<Rows>("GET", `/queries/${named(id)}/results?${parameters(options)}`),
  asOf: (id: string, value: string | number) =>
    call<Rows>("GET", `/queries/${named(id)}/as-of?${parameters({ value })}`),
  refused: (id: string) => call<Refused>("GET", `/queries/${named(id)}/refused`),

  check: (text: string) => call<{ errors: Mistake[] }>("POST", "/check", { text }),
  wouldAdd: (text: string) =>
    call<{ addition: Addition; plan: string }>("POST", "/would-add", { text }),
  sql: (text: string) => call<Rows>("POST", "/sql", { text }),

  catalog: () => call<Catalog>("GET", "/catalog"),
  streams: () => call<{ streams: Stream[] }>("GET", "/streams").then(({ streams }) => streams),
  network: () => call<{ streams: Record<string, Network> }>("GET", "/network"),
  tap: (tap: { on: string; at: string; rows: number; where?: string; ttl: string }) =>
    call<{ tap: Tap }>("POST", "/taps", tap),
  tapped: (id: string) => call<{ tap: Tap; rows: Rows }>("GET", `/taps/${named(id)}`),
  removeTap: (id: string) => call<object>("DELETE", `/taps/${named(id)}`),
  qos: () => call<{ qos: Quality[] }>("GET", "/qos").then(({ qos }) => qos),
  budgets: () => call<{ budgets: Budget[] }>("GET", "/budgets").then(({ budgets }) => budgets),
};

export function parameters(values: Record<string, string | number | boolean | undefined>): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(values))
    if (value !== undefined) search.set(name, String(value));
  return search.toString();
}

export function download(id: string, format: string): string {
  return `${BASE}/queries/${named(id)}/results?format=${format}`;
}
