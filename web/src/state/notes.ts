// Short notes at the edge of the page: what was done, and what went wrong.

import { signal } from "@preact/signals";
import type { Mistake } from "../api/types.ts";

export interface Note {
  readonly id: number;
  readonly kind: "done" | "wrong";
  readonly text: string;
  readonly hint: string | null;
}

export const notes = signal<readonly Note[]>([]);
const LASTS = { done: 5000, wrong: 12_000 };
let next = 1;

export function done(text: string): void {
  add("done", text, null);
}

export function report(mistake: Mistake): void {
  if (notes.value.some(({ text }) => text === mistake.what)) return;
  add("wrong", mistake.what, mistake.would_work);
}

export function dismiss(id: number): void {
  notes.value = notes.value.filter((note) => note.id !== id);
}

function add(kind: Note["kind"], text: string, hint: string | null): void {
  const id = next++;
  notes.value = [...notes.value, { id, kind, text, hint }].slice(-4);
  setTimeout(() => dismiss(id), LASTS[kind]);
}
