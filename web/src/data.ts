// The data of the page: an index, and blocks of deflated byte planes that are inflated when they are needed.

export interface TileEntry {
  n: number; // spans
  t: number; // first start, in steps of the grid
  e: number; // last end
  w: number[]; // widths of gap, duration, label, stack
  b: number; // block of the spans
  a?: number; // block of the arguments, one line a span
  x?: number; // block of the edges
  ew?: number[];
  en?: number;
  k?: number; // block of the slack, plus one; 0: not known
  kw?: number[];
}

export interface LaneEntry {
  track: number;
  depth: number;
  n: number;
  tiles: TileEntry[];
}

export interface Series {
  name: string;
  n: number;
  w: number[];
  b: number;
  low: number;
  high: number;
}

export interface Rows {
  n: number;
  w: number[];
  b: number;
}

export interface Index {
  version: number;
  title: string;
  origin: string; // absolute nanoseconds of time 0
  wall: number; // nanoseconds
  grid: number;
  names: string[];
  labels: [number, number][]; // name, kind
  kinds: string[];
  tracks: { name: string; group: string; kind: string }[];
  lanes: LaneEntry[];
  coarse: { buckets: number; b: number } | null;
  fine: { buckets: number; b: number } | null;
  gaps: { group: string; rows: Rows; used: number[]; stream: boolean }[]; // of a device or a stream; the causes that occur
  causes: string[];
  path: Rows | null; // start, duration, lane + 1
  counters: Series[];
  stacks: number | null;
  edges: string[];
  arrows: Rows | null; // time of the effect, what the cause was earlier, the lanes of both
  missing: [[number, number], [number, number]][]; // edges that the program lacks: lane and time of both ends
}

const cache = new Map<number, Promise<Uint8Array>>();

export function readIndex(): Index {
  return JSON.parse(document.getElementById("index")!.textContent!) as Index;
}

export function inflate(block: number): Promise<Uint8Array> {
  const text = document.getElementById(`b${block}`)!.textContent!;
  const packed = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Response(stream).arrayBuffer().then((whole) => new Uint8Array(whole));
}

// For small blocks that are used again: they stay inflated.
export function inflateOnce(block: number): Promise<Uint8Array> {
  let found = cache.get(block);
  if (!found) cache.set(block, (found = inflate(block)));
  return found;
}

// One column for each width. A width of -8 is a column of floats.
export function columns(bytes: Uint8Array, rows: number, widths: number[]): Float64Array[] {
  let at = 0;
  return widths.map((width) => {
    const column = new Float64Array(rows);
    const planes = Math.abs(width);
    if (width < 0) {
      const raw = new Uint8Array(column.buffer);
      for (let plane = 0; plane < planes; plane++)
        for (let row = 0; row < rows; row++) raw[row * 8 + plane] = bytes[at + plane * rows + row];
    } else {
      let scale = 1;
      for (let plane = 0; plane < planes; plane++, scale *= 256) {
        const low = at + plane * rows;
        for (let row = 0; row < rows; row++) column[row] += bytes[low + row] * scale;
      }
    }
    at += planes * rows;
    return column;
  });
}

export const unzigzag = (value: number): number => (value % 2 ? -(value + 1) / 2 : value / 2);

// Spans of one tile, in nanoseconds from the origin.
export class Tile {
  readonly start: Float64Array;
  readonly end: Float64Array;
  readonly label: Uint32Array;
  readonly stack: Uint32Array;
  readonly before: Float64Array; // the sum of all durations in the tile before this span
  constructor(bytes: Uint8Array, entry: TileEntry, grid: number) {
    const [gap, duration, label, stack] = columns(bytes, entry.n, entry.w);
    this.start = gap;
    this.end = duration;
    this.label = Uint32Array.from(label);
    this.stack = Uint32Array.from(stack);
    this.before = new Float64Array(entry.n + 1);
    let time = entry.t;
    let last = time;
    for (let i = 0; i < entry.n; i++) {
      const length = duration[i] * grid;
      time = last + gap[i];
      last = Math.max(last, time + duration[i]);
      this.start[i] = time * grid;
      this.end[i] = time * grid + length;
      this.before[i + 1] = this.before[i] + length;
    }
  }
  // The first span that ends after `time`.
  find(time: number): number {
    let low = 0;
    let high = this.end.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.end[middle] > time) high = middle;
      else low = middle + 1;
    }
    return low;
  }
  // The time of spans before `time`.
  busy(time: number): number {
    const i = this.find(time);
    return i === this.end.length ? this.before[i] : this.before[i] + Math.max(0, time - this.start[i]);
  }
}

// Inflated tiles, the least recently used dropped first.
export class Tiles {
  private readonly kept = new Map<number, Tile>();
  private readonly pending = new Set<number>();
  constructor(
    private readonly index: Index,
    private readonly ready: () => void,
    private readonly most = 192,
  ) {}
  // The tile if it is there; else it is requested, and `ready` is called when it has come.
  get(entry: TileEntry): Tile | undefined {
    const found = this.kept.get(entry.b);
    if (found) {
      this.kept.delete(entry.b);
      this.kept.set(entry.b, found);
      return found;
    }
    if (this.pending.size < 8 && !this.pending.has(entry.b)) void this.load(entry);
    return undefined;
  }
  async load(entry: TileEntry): Promise<Tile> {
    const found = this.kept.get(entry.b);
    if (found) return found;
    this.pending.add(entry.b);
    const tile = new Tile(await inflate(entry.b), entry, this.index.grid);
    this.pending.delete(entry.b);
    this.kept.set(entry.b, tile);
    for (const key of this.kept.keys()) {
      if (this.kept.size <= this.most) break;
      this.kept.delete(key);
    }
    this.ready();
    return tile;
  }
}
