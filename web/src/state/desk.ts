// All that the page knows of the server: its session, its streams, and its queries as they live.

import { batch, computed, signal } from "@preact/signals";
import { api, asMistake } from "../api/client.ts";
import { EventStream, type StatusEvent } from "../api/events.ts";
import type { Catalog, Query, Session, Stream } from "../api/types.ts";
import { Rates, type LiveQuery } from "../logic/live.ts";
import { report } from "./notes.ts";

export const session = signal<Session | null>(null);
export const streams = signal<readonly Stream[]>([]);
export const queries = signal<readonly LiveQuery[]>([]);
export const loaded = signal(false);
export const catalog = signal<Catalog>({ streams: [], queries: [], functions: [], keywords: [] });
export const events = new EventStream();

export const mayAsk = computed(() => ["ask", "administer"].includes(session.value?.role ?? ""));
export const mayChange = computed(() => session.value?.role === "administer");

const rates = new Rates();
let refreshing: Promise<void> | null = null;

/** Log in if needed is for the page to show; begin when there is a role. */
export async function open(): Promise<void> {
  try {
    session.value = await api.session();
  } catch (error) {
    report(asMistake(error));
    setTimeout(() => void open(), 2000);
    return;
  }
  if (session.value.role === null) return;
  events.onStatus = onStatus;
  events.onSession = () => void open();
  events.start();
  await refresh();
  loaded.value = true;
  catalog.value = await api.catalog().catch(() => catalog.value);
}

/** Read all queries and streams again; calls at the same time are one. */
export function refresh(): Promise<void> {
  refreshing ??= (async () => {
    try {
      const [found, declared] = await Promise.all([api.queries(), api.streams()]);
      batch(() => {
        queries.value = rates.report(found, Date.now() / 1000);
        streams.value = declared;
      });
    } catch (error) {
      report(asMistake(error));
    } finally {
      refreshing = null;
    }
  })();
  return refreshing;
}

export function find(name: string): LiveQuery | undefined {
  return queries.value.find((query) => query.id === name || query.name === name);
}

function onStatus(event: StatusEvent): void {
  const known = new Map(queries.value.map((query) => [query.id, query]));
  const merged: Query[] = [];
  for (const query of event.queries) {
    const before = known.get(query.id);
    // A text is not in the reports: who is new, or changed, is read again.
    if (before === undefined || before.generation !== query.generation) {
      void refresh();
      return;
    }
    merged.push({ ...before, ...query });
  }
  const at = Date.parse(event.at) / 1000 || Date.now() / 1000;
  batch(() => {
    queries.value = rates.report(merged, at);
    streams.value = streams.value.map((stream) => ({
      ...stream,
      ...event.streams.find(({ name }) => name === stream.name),
    }));
  });
}
