// Where somebody is: the part of the address after `#`, so that each place can be linked to.

import { signal } from "@preact/signals";

export interface Route {
  readonly page: string;
  readonly id: string | null;
  readonly tab: string | null;
  readonly given: URLSearchParams;
}

export function parseRoute(hash: string): Route {
  const [path = "", search = ""] = hash.replace(/^#\/?/, "").split("?");
  const [page = "", id, tab] = path.split("/").map(decodeURIComponent);
  return {
    page: page || "queries",
    id: id || null,
    tab: tab || null,
    given: new URLSearchParams(search),
  };
}

export const route = signal(parseRoute(location.hash));

addEventListener("hashchange", () => {
  route.value = parseRoute(location.hash);
});

export function address(page: string, id?: string, tab?: string, given?: Record<string, string>) {
  const path = [page, id, tab].filter((part) => part !== undefined).map(encodeURIComponent);
  const search = given === undefined ? "" : `?${new URLSearchParams(given)}`;
  return `#/${path.join("/")}${search}`;
}

export function go(page: string, id?: string, tab?: string, given?: Record<string, string>): void {
  location.hash = address(page, id, tab, given);
}
