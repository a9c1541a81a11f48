// Light or dark: as the system is, unless somebody chose.

import { effect, signal } from "@preact/signals";

export type Theme = "system" | "light" | "dark";
const KEY = "muntin-theme";
const ORDER: readonly Theme[] = ["system", "light", "dark"];

const system = matchMedia("(prefers-color-scheme: dark)");
export const theme = signal<Theme>(read());
export const dark = signal(false);

function read(): Theme {
  const kept = localStorage.getItem(KEY);
  return ORDER.find((known) => known === kept) ?? "system";
}

function apply(): void {
  dark.value = theme.value === "dark" || (theme.value === "system" && system.matches);
  document.documentElement.dataset["theme"] = dark.value ? "dark" : "light";
}

system.addEventListener("change", apply);
effect(() => {
  localStorage.setItem(KEY, theme.value);
  apply();
});

export function nextTheme(): void {
  theme.value = ORDER[(ORDER.indexOf(theme.value) + 1) % ORDER.length] ?? "system";
}
