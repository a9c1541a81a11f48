// Fewer points that look the same: of each stretch the least and the greatest value stay.

export interface Series {
  readonly x: readonly number[];
  readonly y: readonly (number | null)[];
}

export function thinned(series: Series, most: number): Series {
  const { x, y } = series;
  if (x.length <= most) return series;
  const stretches = Math.max(1, Math.floor(most / 2));
  const newX: number[] = [];
  const newY: (number | null)[] = [];
  for (let stretch = 0; stretch < stretches; stretch += 1) {
    const from = Math.floor((stretch * x.length) / stretches);
    const to = Math.floor(((stretch + 1) * x.length) / stretches);
    const chosen = extremes(y, from, to);
    for (const place of chosen) {
      newX.push(x[place] as number);
      newY.push(y[place] as number | null);
    }
  }
  return { x: newX, y: newY };
}

/** The places of the least and the greatest value, in order; of gaps the first place. */
function extremes(y: readonly (number | null)[], from: number, to: number): number[] {
  let least = -1;
  let greatest = -1;
  for (let place = from; place < to; place += 1) {
    const value = y[place];
    if (value === null || value === undefined) continue;
    if (least < 0 || value < (y[least] as number)) least = place;
    if (greatest < 0 || value > (y[greatest] as number)) greatest = place;
  }
  if (least < 0) return [from];
  if (least === greatest) return [least];
  return least < greatest ? [least, greatest] : [greatest, least];
}
