// Which rows of a ring a table shows: it follows the newest, or stands still while somebody reads.

export interface Viewport {
  /** The number of the row after the last one shown; null while it follows. */
  readonly stoppedAt: number | null;
}

export const FOLLOWING: Viewport = { stoppedAt: null };

export interface Shown {
  /** Numbers of the first row and of the row after the last one, newest rows last. */
  readonly from: number;
  readonly to: number;
  /** Rows that came since the table stands still. */
  readonly waiting: number;
  /** Rows between those shown that are gone: they left the ring while the table stood still. */
  readonly lost: number;
}

export function stop(total: number): Viewport {
  return { stoppedAt: total };
}

export function shown(view: Viewport, total: number, oldest: number, most: number): Shown {
  if (view.stoppedAt === null) {
    return { from: Math.max(oldest, total - most), to: total, waiting: 0, lost: 0 };
  }
  const wanted = Math.max(0, view.stoppedAt - most);
  const from = Math.max(wanted, Math.min(oldest, view.stoppedAt));
  const waiting = total - view.stoppedAt;
  return { from, to: view.stoppedAt, waiting, lost: Math.max(0, from - wanted) };
}
