// The causes of idle time: a colour and a direction of lines for each, on the timeline and in its legend.

import { kindColour, type Theme } from "./colours";
import type { Index } from "./data";
import { element } from "./details";

type Pattern = (x: number, y: number) => boolean; // whether a line is at a pixel

// On a light page, as in style.css, and on a dark one. Neither colour nor pattern is needed to know the cause.
const CAUSES: Record<string, [string, string, Pattern]> = {
  "host late": ["#7c4ddb", "#a98bf0", (x, y) => ((x + y) & 7) < 2],
  "synchronization": ["#b91c1c", "#f06a6a", (x, y) => ((x - y) & 7) < 2],
  "compile": ["#a15a07", "#e0a040", (x, y) => (x & 7) === 0 || (y & 3) === 1],
  "allocator": ["#0e7490", "#3fb6cf", (x) => (x & 7) < 2],
  "capture": ["#64748b", "#94a3b8", (x, y) => ((x + y) & 7) < 2 || ((x - y) & 7) < 2],
  "launch": ["#2456c4", "#7da2f5", (x, y) => ((x + y) & 3) === 0],
  "stream wait": ["#4b6a4f", "#8fb896", (x, y) => ((x - y) & 3) === 0],
  "queued": ["#737373", "#a8a8a8", (_, y) => (y & 3) === 1],
  "queue empty": ["#8a6d3b", "#c2a66b", (x, y) => (y & 3) === 1 && (x & 7) < 4],
  "unknown": ["#5c6673", "#94a0ad", (x, y) => (x & 3) === 0 && ((y + (x & 4 ? 2 : 0)) & 3) === 0],
};

const known = (cause: string) => CAUSES[Object.hasOwn(CAUSES, cause) ? cause : "unknown"];
export const causeColour = (cause: string, dark: boolean): string => known(cause)[dark ? 1 : 0];
export const causePattern = (cause: string): Pattern => known(cause)[2];

function entry(text: string, draw: (c: CanvasRenderingContext2D) => void): HTMLElement {
  const swatch = element("canvas", "", { width: "24", height: "12", "aria-hidden": "true" }) as HTMLCanvasElement;
  draw(swatch.getContext("2d")!);
  const item = element("li");
  item.append(swatch, ` ${text}`);
  return item;
}

// The kinds of spans that occur, and the lines that are drawn on them.
export function showKinds(list: HTMLElement, index: Index, theme: Theme): void {
  const used = [...new Set(index.labels.map(([, kind]) => kind))].sort((a, b) => a - b);
  const items = used.map((kind) =>
    entry(index.kinds[kind], (c) => {
      c.fillStyle = `rgb(${kindColour(index.kinds[kind], theme).join(",")})`;
      c.fillRect(0, 0, 24, 12);
    }),
  );
  const line = (c: CanvasRenderingContext2D, colour: string, dash: number[]) => {
    c.strokeStyle = colour;
    c.lineWidth = 2;
    c.setLineDash(dash);
    c.beginPath();
    c.moveTo(0, 9);
    c.lineTo(24, 9);
    c.stroke();
  };
  if (index.path) items.push(entry("critical path", (c) => line(c, theme.path, [])));
  if (index.missing.length) items.push(entry("missing edge", (c) => line(c, theme.danger, [6, 4])));
  list.replaceChildren(...items);
}

// The causes that occur, each beside its pattern.
export function showCauses(list: HTMLElement, causes: string[], used: Set<number>, theme: Theme): void {
  const items = [...used].sort((a, b) => a - b).map((cause) =>
    entry(`idle: ${causes[cause]}`, (c) => {
      const inPattern = causePattern(causes[cause]);
      c.fillStyle = causeColour(causes[cause], theme.dark);
      for (let x = 0; x < 24; x++) for (let y = 0; y < 12; y++) if (inPattern(x, y)) c.fillRect(x, y, 1, 1);
    }),
  );
  list.replaceChildren(...items);
}
