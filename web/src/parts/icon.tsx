const PATHS = {
  queries: "M4 6h16M4 12h16M4 18h10",
  editor: "M8 8l-4 4 4 4M16 8l4 4-4 4M13.5 5l-3 14",
  network: "M5 12h5M14 6h-1a3 3 0 0 0-3 3v6a3 3 0 0 0 3 3h1M14 4h6v4h-6zM14 16h6v4h-6zM2 9.5h3v5H2z",
  overload: "M4 16a8 8 0 1 1 16 0M12 16l4-6M4 20h16",
  pause: "M9 6v12M15 6v12",
  play: "M8 5.5v13l10.5-6.5z",
  drop: "M5 7h14M10 7V5h4v2M7 7l1 12h8l1-12",
  change: "M5 8h11l-3-3M19 16H8l3 3",
  search: "M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM16.5 16.5L21 21",
  sun: "M12 16.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.5 1.5M17.5 17.5L19 19M5 19l1.5-1.5M17.5 6.5L19 5",
  moon: "M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5z",
  auto: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM12 3v18M12 7h7M12 12h9M12 17h7",
  help: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM9.5 9.5a2.5 2.5 0 1 1 3.5 2.3c-.7.3-1 .8-1 1.700M12 16.5v.1",
  close: "M6 6l12 12M18 6L6 18",
  download: "M12 4v11M7.5 11L12 15.5 16.5 11M5 20h14",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  now: "M12 20V5M6 11l6-6 6 6",
  down: "M6 9l6 6 6-6",
  tap: "M4 8h9a4 4 0 0 1 4 4v1M4 12h9M9 8V5M6 5h6M17 17v.1M17 20v.1",
  plus: "M12 5v14M5 12h14",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, size = 18 }: { name: IconName; size?: number }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" width={size} height={size} aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}

/** Four panes and the bars between them; the lit one is the window that is open. */
export function Mark() {
  return (
    <svg class="mark" viewBox="0 0 32 32" width="28" height="28" aria-hidden="true">
      <rect x="1" y="1" width="30" height="30" rx="7" class="mark-frame" />
      <rect x="6.5" y="6.5" width="8.5" height="8.5" rx="1.5" class="mark-lit" />
      <rect x="17" y="6.5" width="8.5" height="8.5" rx="1.5" class="mark-pane" />
      <rect x="6.5" y="17" width="8.5" height="8.5" rx="1.5" class="mark-pane" />
      <rect x="17" y="17" width="8.5" height="8.5" rx="1.5" class="mark-pane" />
    </svg>
  );
}
