// Numbers, times and lengths as people read them. What is not known is a dash, never a zero.

export const UNKNOWN = "–";

/** 1234567 is 1.23 M; up to four digits stay as they are. */
export function count(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return UNKNOWN;
  const size = Math.abs(value);
  if (size < 10_000) return Number.isInteger(value) ? String(value) : significant(value, 3);
  const [divisor, unit] = size < 1e6 ? [1e3, "k"] : size < 1e9 ? [1e6, "M"] : [1e9, "G"];
  return `${significant(value / divisor, 3)} ${unit}`;
}

export function significant(value: number, digits: number): string {
  return String(Number(value.toPrecision(digits)));
}

export function rate(perSecond: number | null | undefined): string {
  return perSecond === null || perSecond === undefined ? UNKNOWN : `${count(perSecond)}/s`;
}

export function bytes(value: number | null | undefined): string {
  if (value === null || value === undefined) return UNKNOWN;
  if (value < 1000) return `${value} B`;
  const [divisor, unit] = value < 1e6 ? [1e3, "kB"] : value < 1e9 ? [1e6, "MB"] : [1e9, "GB"];
  return `${significant(value / divisor, 3)} ${unit}`;
}

/** 0.004 s is 4 ms, 75 s is 1 min 15 s. */
export function seconds(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return UNKNOWN;
  if (value < 0) return `−${seconds(-value)}`;
  if (value === 0) return "0 s";
  if (value < 1) return `${significant(value * 1000, 2)} ms`;
  if (value < 60) return `${significant(value, 2)} s`;
  const whole = Math.round(value);
  const parts: [number, string][] = [
    [Math.floor(whole / 86400), "d"],
    [Math.floor((whole % 86400) / 3600), "h"],
    [Math.floor((whole % 3600) / 60), "min"],
    [whole % 60, "s"],
  ];
  const shown = parts.filter(([amount]) => amount > 0).slice(0, 2);
  return shown.map(([amount, unit]) => `${amount} ${unit}`).join(" ");
}

export function share(value: number | null | undefined): string {
  if (value === null || value === undefined) return UNKNOWN;
  if (value > 0 && value < 0.005) return "<1%";
  return `${Math.round(value * 100)}%`;
}

export function words(amount: number, one: string, many = `${one}s`): string {
  return `${amount.toLocaleString("en")} ${amount === 1 ? one : many}`;
}

const ISO = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d/;

/** Microseconds are cut: nobody reads them in a table. */
export function cell(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return number(value);
  if (typeof value === "boolean") return value ? "true" : "false";
  if (typeof value === "object") return JSON.stringify(value);
  const text = String(value);
  return ISO.test(text) ? time(text) : text;
}

export function number(value: number): string {
  if (Number.isInteger(value)) return value.toLocaleString("en", { maximumFractionDigits: 0 });
  const size = Math.abs(value);
  if (size >= 0.001 && size < 1e9) return String(Number(value.toFixed(size < 1 ? 4 : 2)));
  return significant(value, 4);
}

/** A time without its zone; seconds and fractions only if there are any. */
export function time(text: string): string {
  const bare = text.replace("T", " ").replace(/(Z|[+-]\d\d:?\d\d)$/, "");
  const [date = "", clock = ""] = bare.split(" ");
  const short = clock.replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");
  return `${date} ${short}`.trim();
}

export function clock(text: string): string {
  return time(text).split(" ")[1] ?? text;
}

/** A value of `on` as a number of the axis: seconds for times, itself for numbers. */
export function position(value: unknown): number | null {
  if (typeof value === "number") return value;
  if (typeof value !== "string" || value === "") return null;
  if (/^-?\d+(\.\d+)?$/.test(value)) return Number(value);
  const zoned = /(Z|[+-]\d\d:?\d\d)$/.test(value) || !value.includes(":");
  const parsed = Date.parse(zoned ? value : `${value.replace(" ", "T")}Z`);
  return Number.isNaN(parsed) ? null : parsed / 1000;
}

/** Arrow's word for a type, without its unit and zone: timestamp[us, tz=UTC] is a timestamp. */
export function plainType(type: string): string {
  return type.replace(/^(timestamp|duration|time\d+)\[.*\]$/, "$1");
}
