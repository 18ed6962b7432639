// One lane as one row of pixels: exact from inflated tiles, else from the overview.

import { type Index, type LaneEntry, Tile, type TileEntry, Tiles } from "./data";

export interface Box {
  lane: number;
  tile: TileEntry;
  i: number;
  label: number;
  start: number;
  end: number;
  x0: number;
  x1: number;
}

export interface Frame {
  t0: number;
  t1: number;
  width: number; // pixels
}

export class Painter {
  visited = 0; // spans looked at in this frame
  filled = false; // a lane of this page has been painted from spans or an overview
  wide: Box[] = []; // wide enough for a name
  constructor(
    private readonly index: Index,
    private readonly tiles: Tiles,
    private readonly overviews: { buckets: number; bytes: Uint8Array }[],
  ) {}

  addOverview(buckets: number, bytes: Uint8Array): void {
    this.overviews.push({ buckets, bytes });
    this.overviews.sort((a, b) => b.buckets - a.buckets);
  }

  begin(): void {
    this.visited = 0;
    this.wide = [];
  }

  entries(lane: LaneEntry, frame: Frame): TileEntry[] {
    const grid = this.index.grid;
    return lane.tiles.filter((tile) => tile.e * grid >= frame.t0 && tile.t * grid <= frame.t1);
  }

  // `shade` maps a label and a coverage (0 to 255) to a pixel; `most` is how many tiles may be inflated for this lane.
  paint(
    number: number,
    frame: Frame,
    line: Uint32Array,
    back: number,
    most: number,
    shade: (label: number, cover: number) => number,
    shadeKind: (kind: number, cover: number) => number,
    minimum: number,
  ): void {
    line.fill(back);
    const lane = this.index.lanes[number];
    const entries = this.entries(lane, frame);
    if (entries.length <= most) {
      const found = entries.map((entry) => this.tiles.get(entry));
      if (found.every((tile) => tile !== undefined)) {
        this.filled = true;
        entries.forEach((entry, k) => this.exact(number, entry, found[k]!, frame, line, shade, minimum));
        return;
      }
    }
    this.fromOverview(number, frame, line, shadeKind);
  }

  private exact(
    number: number,
    entry: TileEntry,
    tile: Tile,
    frame: Frame,
    line: Uint32Array,
    shade: (label: number, cover: number) => number,
    minimum: number,
  ): void {
    const { t0, t1, width } = frame;
    const step = (t1 - t0) / width;
    const grid = this.index.grid;
    let x = Math.max(0, Math.floor((entry.t * grid - t0) / step));
    const last = Math.min(width - 1, Math.floor((entry.e * grid - t0) / step));
    let i = tile.find(t0 + x * step);
    while (x <= last && i < tile.end.length) {
      const low = t0 + x * step;
      this.visited++;
      if (tile.start[i] >= low + step) {
        x = Math.max(x + 1, Math.floor((tile.start[i] - t0) / step)); // always forward: the division may round down
        continue;
      }
      const x0 = (tile.start[i] - t0) / step;
      const x1 = (tile.end[i] - t0) / step;
      if (x1 - x0 >= 2) {
        const from = Math.max(0, Math.floor(x0 + 0.5));
        const to = Math.min(width, Math.max(from + 1, Math.floor(x1 + 0.5)));
        line.fill(shade(tile.label[i], 255), from, to);
        if (x1 - x0 >= 4 && x0 >= 0 && from < width) line[from] = shade(tile.label[i], 120); // a border between neighbours
        if (x1 - x0 >= minimum)
          this.wide.push({ lane: number, tile: entry, i, label: tile.label[i], start: tile.start[i], end: tile.end[i], x0, x1 });
        x = Math.max(to, x + 1);
        i++;
      } else {
        const cover = (tile.busy(low + step) - tile.busy(low)) / step;
        line[x] = shade(tile.label[i], Math.max(1, Math.min(255, Math.round(cover * 255))));
        x++;
        i = tile.find(t0 + x * step);
      }
    }
  }

  private fromOverview(number: number, frame: Frame, line: Uint32Array, shadeKind: (kind: number, cover: number) => number): void {
    const found = this.overviews[0];
    if (!found) return;
    this.filled = true;
    const { buckets, bytes } = found;
    const lanes = this.index.lanes.length;
    const scale = buckets / this.index.wall;
    for (let x = 0; x < line.length; x++) {
      const time = frame.t0 + ((frame.t1 - frame.t0) * (x + 0.5)) / frame.width;
      const bucket = Math.floor(time * scale);
      if (bucket < 0 || bucket >= buckets) continue;
      const cover = bytes[number * buckets + bucket];
      if (cover) line[x] = shadeKind(bytes[lanes * buckets + number * buckets + bucket], cover);
    }
  }
}
