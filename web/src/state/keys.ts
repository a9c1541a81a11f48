// Keys that work anywhere, unless somebody types text. `g q` are two keys, one after the other.

import { signal } from "@preact/signals";

export interface Shortcut {
  readonly keys: string;
  readonly about: string;
  run(): void;
}

const shortcuts = signal<readonly Shortcut[]>([]);
const TOGETHER = 1200;
let first: { key: string; at: number } | null = null;

/** Add shortcuts; returns what removes them. Newer ones come first where two have equal keys. */
export function addShortcuts(added: readonly Shortcut[]): () => void {
  shortcuts.value = [...added, ...shortcuts.value];
  return () => {
    shortcuts.value = shortcuts.value.filter((shortcut) => !added.includes(shortcut));
  };
}

export function knownShortcuts(): readonly Shortcut[] {
  const seen = new Set<string>();
  return shortcuts.value.filter(({ keys }) => !seen.has(keys) && seen.add(keys));
}

function typing(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
}

export function listen(): void {
  addEventListener("keydown", (event) => {
    const palette = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k";
    if (!palette) {
      if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
      if (document.querySelector("dialog[open]") !== null) return;
    }
    const pressed = palette ? "Ctrl K" : event.key;
    const now = Date.now();
    const both = first !== null && now - first.at < TOGETHER ? `${first.key} ${pressed}` : null;
    const found =
      shortcuts.value.find(({ keys }) => keys === both) ??
      shortcuts.value.find(({ keys }) => keys === pressed);
    first = found === undefined ? { key: pressed, at: now } : null;
    if (found === undefined) return;
    event.preventDefault();
    found.run();
  });
}
