// The overview strip: the whole trace in one row, and the window that the timeline shows. Drag over it to choose another.

import { type Theme, themeOf, WORK } from "./colours";
import type { Index } from "./data";

export interface Window {
  t0: number;
  t1: number;
  show(t0: number, t1: number): void;
}

export class Strip {
  private busy: [Float32Array, Float32Array] | null = null; // of streams and of other tracks, 0 to 1, by bucket
  private readonly counts = [0, 0]; // of devices and of other tracks
  private drawn: HTMLCanvasElement | null = null; // without the window; made once for a width and a theme
  private from: number | null = null; // where a drag began

  constructor(
    private readonly index: Index,
    private readonly canvas: HTMLCanvasElement,
  ) {
    const devices = new Set<string>();
    for (const { depth, track } of index.lanes) {
      if (this.side(track) === 0) devices.add(index.tracks[track].group);
      else if (depth === 0) this.counts[1]++;
    }
    this.counts[0] = devices.size;
  }

  // 0: streams, 1: other tracks.
  private side(track: number): number {
    return this.index.tracks[track].kind === "stream" ? 0 : 1;
  }

  // The share of each bucket in which devices and tracks are busy, on average: a device with the work of its streams.
  fill(buckets: number, bytes: Uint8Array): void {
    const { lanes, tracks, kinds } = this.index;
    const work = kinds.map((kind) => WORK.has(kind));
    const sums: [Float32Array, Float32Array] = [new Float32Array(buckets), new Float32Array(buckets)];
    const device = new Uint16Array(buckets); // the sum of its streams; work of one stream is in one lane at a time
    lanes.forEach((lane, number) => {
      const from = number * buckets;
      if (this.side(lane.track) === 1) {
        if (lane.depth === 0) for (let i = 0; i < buckets; i++) sums[1][i] += bytes[from + i] / 255;
        return;
      }
      for (let i = 0; i < buckets; i++)
        if (work[bytes[lanes.length * buckets + from + i]]) device[i] = Math.min(255, device[i] + bytes[from + i]);
      const next = lanes[number + 1];
      if (next && this.side(next.track) === 0 && tracks[next.track].group === tracks[lane.track].group) return;
      for (let i = 0; i < buckets; i++) sums[0][i] += device[i] / 255;
      device.fill(0);
    });
    sums.forEach((sum, side) => sum.forEach((value, i) => (sum[i] = value / Math.max(this.counts[side], 1))));
    this.busy = sums;
    this.drawn = null;
  }

  restyle(): void {
    this.drawn = null;
  }

  paint(window: Window): void {
    const width = Math.max(this.canvas.clientWidth, 1);
    const height = Math.max(this.canvas.clientHeight, 1);
    if (this.canvas.width !== width || this.canvas.height !== height) {
      this.canvas.width = width;
      this.canvas.height = height;
      this.drawn = null;
    }
    const theme = themeOf();
    this.drawn ??= this.draw(width, height, theme);
    const c = this.canvas.getContext("2d")!;
    c.clearRect(0, 0, width, height);
    c.drawImage(this.drawn, 0, 0);
    const scale = width / Math.max(this.index.wall, 1);
    const [x0, x1] = [Math.max(window.t0 * scale, 0), Math.min(window.t1 * scale, width)];
    c.fillStyle = theme.accent;
    c.globalAlpha = 0.16;
    c.fillRect(x0, 0, Math.max(x1 - x0, 2), height);
    c.globalAlpha = 1;
    c.strokeStyle = theme.accent;
    c.strokeRect(x0 + 0.5, 0.5, Math.max(x1 - x0 - 1, 1), height - 1);
  }

  private draw(width: number, height: number, theme: Theme): HTMLCanvasElement {
    const made = document.createElement("canvas");
    made.width = width;
    made.height = height;
    const c = made.getContext("2d")!;
    const sides = [0, 1].filter((side) => this.counts[side]); // streams above other tracks; one of them takes it all
    const part = height / Math.max(sides.length, 1);
    sides.forEach((side, place) => {
      const values = this.busy?.[side];
      if (!values) return;
      c.fillStyle = side === 0 ? "#2f7ed8" : theme.faint;
      for (let x = 0; x < width; x++) {
        const value = values[Math.min(values.length - 1, Math.floor((x / width) * values.length))];
        c.fillRect(x, (place + 1) * part - value * (part - 1), 1, value * (part - 1));
      }
    });
    return made;
  }

  // Dragging chooses a window; a click moves the window there.
  listen(window: Window, changed: () => void): void {
    const time = (event: PointerEvent) => (event.offsetX / Math.max(this.canvas.clientWidth, 1)) * this.index.wall;
    this.canvas.addEventListener("pointerdown", (event) => {
      this.canvas.setPointerCapture(event.pointerId);
      this.from = time(event);
    });
    this.canvas.addEventListener("pointermove", (event) => {
      if (this.from === null || Math.abs(time(event) - this.from) * this.canvas.clientWidth < 4 * this.index.wall) return;
      window.show(Math.min(this.from, time(event)), Math.max(this.from, time(event)));
    });
    this.canvas.addEventListener("pointerup", (event) => {
      if (this.from === null) return;
      const at = time(event);
      if (Math.abs(at - this.from) * this.canvas.clientWidth < 4 * this.index.wall) {
        const half = (window.t1 - window.t0) / 2;
        window.show(at - half, at + half);
      }
      this.from = null;
      changed();
    });
  }
}
