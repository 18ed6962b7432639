// The causes of idle time: a colour and a direction of lines for each, on the timeline and in its legend.

import { kindColour, type Theme } from "./colours";
import type { Index } from "./data";
import { element } from "./details";

const CAUSES = ["#8b5cf6", "#dc2626", "#d97706", "#0891b2", "#64748b", "#2563eb", "#94a3b8", "#a3a3a3", "#6b7280"];

export const causeColour = (cause: number): string => CAUSES[cause % CAUSES.length];

// Each cause has a colour and a direction of its lines, so that neither is needed alone. Whether a line is at a pixel.
export function inPattern(cause: number, x: number, y: number): boolean {
  const rising = ((x + y) & 7) < 2;
  const falling = ((x - y) & 7) < 2;
  switch (cause % 5) {
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
export function showCauses(list: HTMLElement, causes: string[], used: Set<number>): void {
  const items = [...used].sort((a, b) => a - b).map((cause) =>
    entry(`idle: ${causes[cause]}`, (c) => {
      c.fillStyle = causeColour(cause);
      for (let x = 0; x < 24; x++) for (let y = 0; y < 12; y++) if (inPattern(cause, x, y)) c.fillRect(x, y, 1, 1);
    }),
  );
  list.replaceChildren(...items);
}
