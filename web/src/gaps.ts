// The causes of idle time: a colour and a direction of lines for each, on the timeline and in its legend.

import { kindColour, type Theme } from "./colours";
import type { Index } from "./data";
import { element } from "./details";

// Those of style.css; lighter on a dark page.
const CAUSES = ["#7c4ddb", "#b91c1c", "#a15a07", "#0e7490", "#64748b", "#2456c4", "#4b6a4f", "#737373", "#5c6673"];
const DARK = ["#a98bf0", "#f06a6a", "#e0a040", "#3fb6cf", "#94a3b8", "#7da2f5", "#8fb896", "#a8a8a8", "#94a0ad"];

const UNKNOWN = CAUSES.length - 1; // dots, which look least like spans

export const causeColour = (cause: number, dark: boolean): string => (dark ? DARK : CAUSES)[cause % CAUSES.length];

// Each cause has a colour and a direction of its lines, so that neither is needed alone. Whether a line is at a pixel.
export function inPattern(cause: number, x: number, y: number): boolean {
  const rising = ((x + y) & 7) < 2;
  const falling = ((x - y) & 7) < 2;
  switch (cause === UNKNOWN ? -1 : cause % 5) {
    case -1: return (x & 3) === 0 && ((y + (x & 4 ? 2 : 0)) & 3) === 0;
    case 0: return rising;
    case 1: return falling;
    case 2: return (y & 3) === 1;
    case 3: return (x & 7) < 2;
    default: return rising || falling;
  }
}

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
  const line = (c: CanvasRenderingContext2D, dash: number[]) => {
    c.strokeStyle = theme.danger;
    c.lineWidth = 2;
    c.setLineDash(dash);
    c.beginPath();
    c.moveTo(0, 9);
    c.lineTo(24, 9);
    c.stroke();
  };
  if (index.path) items.push(entry("critical path", (c) => line(c, [])));
  if (index.missing.length) items.push(entry("missing edge", (c) => line(c, [6, 4])));
  list.replaceChildren(...items);
}

// The causes that occur, each beside its pattern.
export function showCauses(list: HTMLElement, causes: string[], used: Set<number>, theme: Theme): void {
  const items = [...used].sort((a, b) => a - b).map((cause) =>
    entry(`idle: ${causes[cause]}`, (c) => {
      c.fillStyle = causeColour(cause, theme.dark);
      for (let x = 0; x < 24; x++) for (let y = 0; y < 12; y++) if (inPattern(cause, x, y)) c.fillRect(x, y, 1, 1);
    }),
  );
  list.replaceChildren(...items);
}
