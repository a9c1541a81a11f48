// The newest rows of a result, at most so many: a page that keeps all rows stops one day.

export const RING = 10_000;

export class Ring<Row> {
  private readonly rows: Row[] = [];
  private first = 0;
  /** How many rows were pushed since the beginning; row number `total` is the next one. */
  total = 0;

  constructor(readonly size = RING) {}

  push(row: Row): void {
    if (this.rows.length < this.size) this.rows.push(row);
    else {
      this.rows[this.first] = row;
      this.first = (this.first + 1) % this.size;
    }
    this.total += 1;
  }

  /** Rows that never came here, such as those that the server skipped, count all the same. */
  skip(amount: number): void {
    this.rows.length = 0;
    this.first = 0;
    this.total += amount;
  }

  get length(): number {
    return this.rows.length;
  }

  /** The number of the oldest row that is still there. */
  get oldest(): number {
    return this.total - this.rows.length;
  }

  /** The row of a number, counted since the beginning; undefined if it is gone or not there yet. */
  at(number: number): Row | undefined {
    if (number < this.oldest || number >= this.total) return undefined;
    return this.rows[(this.first + number - this.oldest) % this.size];
  }

  slice(from: number, to: number): Row[] {
    const found: Row[] = [];
    for (let number = Math.max(from, this.oldest); number < Math.min(to, this.total); number += 1)
      found.push(this.at(number) as Row);
    return found;
  }

  clear(): void {
    this.rows.length = 0;
    this.first = 0;
    this.total = 0;
  }
}
