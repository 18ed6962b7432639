// The causes of idle time: a colour and a direction of lines for each, on the timeline and in its legend.

import type { Theme } from "./colours";
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

// The causes that occur, each beside its pattern.
export function showCauses(list: HTMLElement, causes: string[], used: Set<number>, theme: Theme): void {
  const items = [...used].sort((a, b) => a - b).map((cause) => {
    const swatch = element("canvas", "", { width: "24", height: "12", "aria-hidden": "true" }) as HTMLCanvasElement;
    const c = swatch.getContext("2d")!;
    c.fillStyle = causePattern(c, cause, theme);
    c.fillRect(0, 0, 24, 12);
    const item = element("li");
    item.append(swatch, ` idle: ${causes[cause]}`);
    return item;
  });
  list.replaceChildren(...items);
}
