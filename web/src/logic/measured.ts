// Which column of the stream a query measures, so that its rows can be drawn below the answers.

export interface Measured {
  readonly column: string;
  /** Whether answers have the scale of the column: an average has, a total has not. */
  readonly same: boolean;
}

const SAME = /\b(avg|mean|min|max|median|first|last|percentile|quantile|any_value)\s*\(\s*(\w+)/i;
const OTHER = /\b(sum|stddev|variance|approx_count_distinct)\s*\(\s*(\w+)/i;
const FRAME = /\bFRAME\s+\w+\s*\(?\s*(\w+)/i;

export function measured(text: string): Measured | null {
  const same = SAME.exec(text)?.[2] ?? FRAME.exec(text)?.[1];
  if (same !== undefined) return { column: same, same: true };
  const other = OTHER.exec(text)?.[2] ?? /\bWHERE\s+(\w+)\s*[<>]/i.exec(text)?.[1];
  return other === undefined ? null : { column: other, same: false };
}
