// The frame of the page: where one can go, how the connection is, and the keys for all of it.

import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { api, asMistake } from "./api/client.ts";
import type { Mistake } from "./api/types.ts";
import { Later } from "./parts/later.tsx";
import { Icon, Mark, type IconName } from "./parts/icon.tsx";
import { Notes } from "./parts/notes.tsx";
import { Help, Palette } from "./parts/palette.tsx";
import { Button, Field, MistakeBox } from "./parts/small.tsx";
import { QueriesPage } from "./pages/queries.tsx";
import { events, loaded, open, queries, session, streams } from "./state/desk.ts";
import { addShortcuts } from "./state/keys.ts";
import { address, go, route } from "./state/route.ts";
import { nextTheme, theme } from "./state/theme.ts";
import { count } from "./logic/format.ts";

const PLACES: readonly { id: string; name: string; icon: IconName; keys: string }[] = [
  { id: "queries", name: "Queries", icon: "queries", keys: "g q" },
  { id: "editor", name: "Editor", icon: "editor", keys: "g e" },
  { id: "network", name: "Network", icon: "network", keys: "g n" },
  { id: "overload", name: "Too much", icon: "overload", keys: "g o" },
];

const editorPage = () => import("./pages/editor.tsx").then(({ EditorPage }) => EditorPage);
const queryPage = () => import("./pages/query.tsx").then(({ QueryPage }) => QueryPage);
const networkPage = () => import("./pages/network.tsx").then(({ NetworkPage }) => NetworkPage);
const overloadPage = () => import("./pages/overload.tsx").then(({ OverloadPage }) => OverloadPage);

const opened = signal<"palette" | "help" | null>(null);

export function App() {
  useEffect(
    () =>
      addShortcuts([
        ...PLACES.map(({ id, name, keys }) => ({ keys, about: `Go to ${name}`, run: () => go(id) })),
        { keys: "n", about: "Write a new query", run: () => go("editor") },
        { keys: "t", about: "Light, dark, or as the system is", run: nextTheme },
        { keys: "Ctrl K", about: "Go anywhere, do anything", run: () => (opened.value = "palette") },
        { keys: "?", about: "Show the keys", run: () => (opened.value = "help") },
      ]),
    [],
  );
  if (session.value !== null && session.value.role === null) return <LogIn />;
  return (
    <div class="app">
      <a class="skip" href="#main" onClick={focusMain}>
        Skip to the content
      </a>
      <Side />
      <main id="main" tabIndex={-1}>
        <Content />
      </main>
      <Notes />
      {opened.value === "palette" && <Palette onClose={() => (opened.value = null)} />}
      {opened.value === "help" && <Help onClose={() => (opened.value = null)} />}
    </div>
  );
}

function focusMain(event: Event): void {
  event.preventDefault();
  document.getElementById("main")?.focus();
}

function Content() {
  const { page, id } = route.value;
  useEffect(() => {
    const place = PLACES.find((known) => known.id === page)?.name;
    document.title = `${id ?? place ?? "Muntin"} · Muntin`;
  }, [page, id]);
  if (!loaded.value) return <p class="waiting">Asking the server …</p>;
  if (page === "query" && id !== null) return <Later key={id} load={queryPage} given={{ id }} />;
  if (page === "editor") return <Later load={editorPage} given={{}} />;
  if (page === "network") return <Later load={networkPage} given={{}} />;
  if (page === "overload") return <Later load={overloadPage} given={{}} />;
  return <QueriesPage />;
}

function Side() {
  const current = route.value.page === "query" ? "queries" : route.value.page;
  return (
    <header class="side">
      <a class="brand" href={address("queries")} aria-label="Muntin, all queries">
        <Mark />
        <span>Muntin</span>
      </a>
      <nav aria-label="Places">
        {PLACES.map(({ id, name, icon, keys }) => (
          <a
            href={address(id)}
            aria-current={id === current ? "page" : undefined}
            title={`${name} (${keys})`}
          >
            <Icon name={icon} size={20} />
            <span>{name}</span>
          </a>
        ))}
      </nav>
      <div class="side-foot">
        <Streams />
        <Connection />
        <div class="side-buttons">
          <Button
            icon="search"
            kind="quiet"
            label="Go anywhere (Ctrl K)"
            onClick={() => (opened.value = "palette")}
          />
          <Button
            icon={{ system: "auto", light: "sun", dark: "moon" }[theme.value] as IconName}
            kind="quiet"
            label={`Colours: ${theme.value}`}
            onClick={nextTheme}
          />
          <Button icon="help" kind="quiet" label="Keys (?)" onClick={() => (opened.value = "help")} />
        </div>
      </div>
    </header>
  );
}

function Streams() {
  return (
    <ul class="side-streams">
      {streams.value.map(({ name, rows, punctuation }) => (
        <li>
          <strong>{name}</strong>
          <span>{count(rows)} rows</span>
          <span class="side-until">
            {punctuation === null ? "no punctuation yet" : `complete to ${shortTime(punctuation)}`}
          </span>
        </li>
      ))}
    </ul>
  );
}

function shortTime(value: string | number): string {
  return String(value)
    .replace("T", " ")
    .replace(/(\.\d+)?(Z|\+00:00)$/, "");
}

const WORDS = {
  connecting: "connecting",
  live: "live",
  lost: "connection lost, trying again",
  closed: "logged out",
};

function Connection() {
  const state = events.connection.value;
  return (
    <p class={`connection connection-${state}`} role="status">
      <span class="connection-dot" />
      {WORDS[state]}
      <span class="connection-more">
        {queries.value.length} {queries.value.length === 1 ? "query" : "queries"}
      </span>
    </p>
  );
}

function LogIn() {
  const [token, setToken] = useState("");
  const [wrong, setWrong] = useState<Mistake | null>(null);
  const logIn = async (event: Event) => {
    event.preventDefault();
    try {
      session.value = await api.logIn(token);
      await open();
    } catch (error) {
      setWrong(asMistake(error));
    }
  };
  return (
    <main class="log-in">
      <form onSubmit={logIn}>
        <Mark />
        <h1>Muntin</h1>
        <Field label="Token">
          <input
            type="password"
            autocomplete="current-password"
            value={token}
            onInput={(event) => setToken(event.currentTarget.value)}
          />
        </Field>
        {wrong !== null && <MistakeBox mistake={wrong} />}
        <Button kind="main" type="submit">
          Log in
        </Button>
      </form>
    </main>
  );
}
