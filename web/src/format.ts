// Numbers as people read them; the same rules as eventide.report.format.

function three(value: number): string {
  const size = Math.abs(value);
  if (size >= 99.95) return Math.round(value).toLocaleString("en-US");
  return value.toFixed(size >= 9.995 ? 1 : 2);
}

export function time(ns: number): string {
  const size = Math.abs(ns);
  for (const [unit, scale] of [["s", 1e9], ["ms", 1e6], ["us", 1e3]] as const)
    if (size >= scale * 0.9995) return `${three(ns / scale)} ${unit}`;
  return `${Math.round(ns)} ns`;
}

// A time on an axis whose marks are `step` apart and reach to `most`: neighbours differ, in one unit.
export function mark(ns: number, step: number, most: number): string {
  const [unit, scale] = ([["s", 1e9], ["ms", 1e6], ["us", 1e3], ["ns", 1]] as const).find(([, size]) => most >= size) ?? ["ns", 1];
  const digits = Math.max(0, Math.ceil(Math.log10(scale / step) - 1e-9));
  return ns === 0 ? "0" : `${(ns / scale).toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits })} ${unit}`;
}

// A value of a counter: bytes where its name says so.
export function value(name: string, value: number): string {
  if (!/bytes|memory|rss|heap/i.test(name) || Math.abs(value) < 1024) return value.toLocaleString("en-US", { maximumFractionDigits: 3 });
  const [unit, scale] = ([["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 1024]] as const).find(([, size]) => Math.abs(value) >= size)!;
  return `${three(value / scale)} ${unit}`;
}

export function exact(ns: number): string {
  return `${ns.toLocaleString("en-US")} ns`;
}

export function percent(part: number, whole: number): string {
  if (whole <= 0) return "-";
  const share = (100 * part) / whole;
  if (part === 0 || part === whole) return `${share.toFixed(0)} %`;
  if (share < 0.1) return "< 0.1 %";
  if (share > 99.9 && share < 100) return "> 99.9 %";
  return `${share.toFixed(share < 9.95 || share > 99 ? 1 : 0)} %`;
}

const UNITS: Record<string, number> = { ns: 1, us: 1e3, ms: 1e6, s: 1e9, B: 1, KiB: 1024, MiB: 1048576, GiB: 1073741824, "%": 1 };

// What a cell sorts by: a number with its unit, or NaN for text.
export function sortKey(cell: string): number {
  const found = /^([<>]\s*)?(-?[\d,]*\.?\d+)\s*(ns|us|ms|s|B|KiB|MiB|GiB|%)?$/.exec(cell.trim());
  if (!found) return cell.trim() === "-" || cell.trim() === "" ? -Infinity : NaN;
  return Number(found[2].replaceAll(",", "")) * (UNITS[found[3] ?? "ns"] ?? 1);
}
