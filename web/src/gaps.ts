// The causes of idle time: a colour and a direction of lines for each, on the timeline and in its legend.

import { kindColour, type Theme } from "./colours";
import type { Index } from "./data";
import { element } from "./details";

const patterns = new Map<string, CanvasPattern>();
const CAUSES = ["#8b5cf6", "#dc2626", "#d97706", "#0891b2", "#64748b", "#2563eb", "#94a3b8", "#a3a3a3", "#6b7280"];

// Each cause has a colour and a direction of its lines, so that neither is needed alone.
export function causePattern(c: CanvasRenderingContext2D, cause: number, theme: Theme): CanvasPattern {
  const key = `${cause}${theme.dark}`;
  let found = patterns.get(key);
  if (!found) {
    const tile = document.createElement("canvas");
    tile.width = tile.height = 8;
    const p = tile.getContext("2d")!;
    p.strokeStyle = CAUSES[cause % CAUSES.length];
    p.lineWidth = 1.5;
    p.beginPath();
    const ways: [number, number, number, number][][] = [
      [[0, 8, 8, 0]],
      [[0, 0, 8, 8]],
      [[0, 4, 8, 4]],
      [[4, 0, 4, 8]],
      [[0, 8, 8, 0], [0, 0, 8, 8]],
    ];
    for (const [x0, y0, x1, y1] of ways[cause % ways.length]) {
      p.moveTo(x0, y0);
      p.lineTo(x1, y1);
    }
    p.stroke();
    found = c.createPattern(tile, "repeat")!;
    patterns.set(key, found);
  }
  return found;
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
      c.fillStyle = causePattern(c, cause, theme);
      c.fillRect(0, 0, 24, 12);
    }),
  );
  list.replaceChildren(...items);
}
