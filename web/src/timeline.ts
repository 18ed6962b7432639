// The timeline: tracks with their lanes on one canvas, below a ruler; zoom, pan, selection.

import { kindColour, ramp, shadeOf, SHADES, type Theme, themeOf } from "./colours";
import { columns, type Index, inflateOnce, Tiles, unzigzag } from "./data";
import * as format from "./format";
import { causeColour, causePattern } from "./gaps";
import type { Strip } from "./strip";
import { type Box, type Frame, Painter } from "./lanes";

const LANE = 17; // height of a lane, with its gap
const HEAD = 20; // height of a track's name
const RULER = 22;
const COUNTER = 44;
const LEAST_NS = 20; // the narrowest view
const NAME_PX = 34; // spans narrower than this have no name
const ARROWS = 60; // edges in view that are drawn without a selection
const PATTERN_PX = 4; // gaps narrower than this have no pattern
const TILES = 160; // tiles that one frame may use

export type Row =
  | { kind: "head"; y: number; height: number; text: string; track: number }
  | { kind: "lane"; y: number; height: number; lane: number; track: number }
  | { kind: "gaps"; y: number; height: number; group: number }
  | { kind: "counter"; y: number; height: number; series: number };

export interface Span {
  lane: number;
  label: number;
  start: number;
  end: number;
  tile: Box["tile"];
  i: number;
}

export class Timeline {
  t0 = 0;
  t1 = 1;
  selected: Span | null = null;
  range: [number, number] | null = null;
  mark: number | null = null;
  matches: Set<number> | null = null; // labels; null: no search
  readonly tiles: Tiles;
  readonly painter: Painter;
  readonly rows: Row[] = [];
  private theme: Theme;
  private readonly folded = new Set<number>(); // tracks of which the outermost lane is shown alone
  private ramps: Uint32Array[] = []; // by kind, SHADES each
  private dim: Uint32Array[] = [];
  private readonly context: CanvasRenderingContext2D;
  private queued = false;
  painted: () => void = () => undefined; // called after each frame
  private gaps: { start: Float64Array; end: Float64Array; cause: Float64Array; before: Float64Array }[] = []; // before: sums of lengths
  private path: { start: Float64Array; end: Float64Array; lane: Float64Array } | null = null;
  private flows: { time: Float64Array; back: Float64Array; from: Float64Array; to: Float64Array } | null = null;
  private readonly streamGaps = new Map<number, number>(); // by lane
  private image = new ImageData(1, 1); // kept between frames of one size
  private series: { time: Float64Array; value: Float64Array }[] = [];
  shownAt = 0; // when a frame first had the overview or spans
  frames: number[] = []; // script time of the latest frames, in milliseconds
  private height = 0; // of all rows

  constructor(
    readonly index: Index,
    readonly canvas: HTMLCanvasElement,
    readonly scroller: HTMLElement,
    private readonly spacer: HTMLElement,
    readonly strip?: Strip,
  ) {
    this.context = canvas.getContext("2d", { alpha: false })!;
    this.tiles = new Tiles(index, () => this.draw());
    this.painter = new Painter(index, this.tiles, []);
    this.t1 = Math.max(index.wall, LEAST_NS);
    this.theme = themeOf();
    this.layOut();
    this.restyle();
    void this.load();
  }

  private layOut(): void {
    let y = RULER;
    this.rows.length = 0;
    this.streamGaps.clear();
    const add = (row: Row) => {
      this.rows.push(row);
      y += row.height;
    };
    let track = -1;
    this.index.lanes.forEach((lane, number) => {
      if (lane.track !== track) {
        track = lane.track;
        const { name, group } = this.index.tracks[track];
        const mark = this.deep(track) ? (this.folded.has(track) ? "\u25b8 " : "\u25be ") : "";
        add({ kind: "head", y, height: HEAD, text: mark + (group ? `${group} · ${name}` : name), track });
        const gaps = this.index.gaps.findIndex((each) => !each.stream && each.group === `${track}`);
        if (gaps >= 0) add({ kind: "gaps", y, height: 12, group: gaps });
      }
      if (lane.depth > 0 && this.folded.has(track)) return;
      add({ kind: "lane", y, height: LANE, lane: number, track });
      const own = this.index.gaps.findIndex((each) => each.stream && each.group === `${track}`);
      if (own >= 0 && lane.depth === 0) this.streamGaps.set(number, own);
    });
    this.index.counters.forEach((series, number) => {
      add({ kind: "head", y, height: HEAD, text: `${series.name}, up to ${format.value(series.name, series.high)}`, track: -1 });
      add({ kind: "counter", y, height: COUNTER, series: number });
    });
    this.height = y;
    this.canvas.width = 0; // what is scrolled has another height
  }

  // Whether a track has more than one lane.
  private deep(track: number): boolean {
    return this.index.lanes.some((lane) => lane.track === track && lane.depth > 0);
  }

  // Show the outermost lane of a track alone, or all again.
  fold(track: number): void {
    if (!this.deep(track)) return;
    if (!this.folded.delete(track)) this.folded.add(track);
    this.layOut();
    this.draw();
  }

  foldAll(): void {
    const deep = this.index.tracks.map((_, track) => track).filter((track) => this.deep(track));
    const all = deep.every((track) => this.folded.has(track));
    for (const track of deep) if (all) this.folded.delete(track); else this.folded.add(track);
    this.layOut();
    this.draw();
  }

  private async load(): Promise<void> {
    for (const overview of [this.index.coarse, this.index.fine])
      if (overview) {
        const bytes = await inflateOnce(overview.b);
        this.painter.addOverview(overview.buckets, bytes);
        this.strip?.fill(overview.buckets, bytes);
        this.draw();
      }
    for (const { rows } of this.index.gaps) {
      const [gap, duration, cause] = columns(await inflateOnce(rows.b), rows.n, rows.w);
      const [start, end] = this.chain(gap, duration);
      const before = new Float64Array(rows.n + 1);
      for (let i = 0; i < rows.n; i++) before[i + 1] = before[i] + end[i] - start[i];
      this.gaps.push({ start, end, cause, before });
    }
    if (this.index.path) {
      const { b, n, w } = this.index.path;
      const [gap, duration, lane] = columns(await inflateOnce(b), n, w);
      const [start, end] = this.chain(gap, duration);
      this.path = { start, end, lane };
    }
    if (this.index.arrows) {
      const { b, n, w } = this.index.arrows;
      const [time, back, from, to] = columns(await inflateOnce(b), n, w);
      for (let i = 1; i < n; i++) time[i] += time[i - 1];
      this.flows = { time, back, from, to };
    }
    for (const series of this.index.counters) {
      const [step, value] = columns(await inflateOnce(series.b), series.n, series.w);
      for (let i = 1; i < step.length; i++) step[i] += step[i - 1];
      this.series.push({ time: step, value });
    }
    this.draw();
  }

  // Gaps and durations to starts and ends.
  private chain(gap: Float64Array, duration: Float64Array): [Float64Array, Float64Array] {
    let last = 0;
    for (let i = 0; i < gap.length; i++) {
      const start = last + gap[i];
      last = start + duration[i];
      gap[i] = start;
      duration[i] = last;
    }
    return [gap, duration];
  }

  // Idle time between two times, by device (the track that shows it) and cause; causes without any are left out.
  idleOf(low: number, high: number): { track: number; causes: [string, number][] }[] {
    const devices = this.gaps.filter((_, number) => !this.index.gaps[number].stream);
    return devices.map(({ start, end, cause }, number) => {
      const sums = new Map<number, number>();
      for (let i = firstAfter(end, low); i < start.length && start[i] < high; i++)
        sums.set(cause[i], (sums.get(cause[i]) ?? 0) + Math.min(end[i], high) - Math.max(start[i], low));
      const causes = [...sums].sort((a, b) => b[1] - a[1]).map(([each, time]): [string, number] => [this.index.causes[each], time]);
      return { track: Number(this.index.gaps[number].group), causes };
    });
  }

  // How long each device worked between two times, and each stream of those that have several: its idle time is known.
  busyOf(low: number, high: number): { name: string; busy: number }[] {
    const [from, to] = [Math.max(low, 0), Math.min(high, this.index.wall)];
    return this.gaps.map((gaps, number) => {
      const { group, stream } = this.index.gaps[number];
      const track = this.index.tracks[Number(group)];
      const several = !stream && this.index.gaps.some((each) => each.stream && this.index.tracks[Number(each.group)].group === track.group);
      const name = several ? `${track.group}, any stream` : `${track.group} · ${track.name}`;
      return { name, busy: Math.max(0, to - from - (idleBefore(gaps, to) - idleBefore(gaps, from))) };
    });
  }

  // Whether a piece of the critical path is in this span.
  onPath(span: Span): boolean {
    const { path } = this;
    if (!path) return false;
    for (let i = firstAfter(path.end, span.start); i < path.start.length && path.start[i] < span.end; i++)
      if (path.lane[i] === span.lane + 1) return true;
    return false;
  }

  restyle(): void {
    this.theme = themeOf();
    const back = this.theme.back;
    const colours = this.index.kinds.flatMap((kind) =>
      Array.from({ length: SHADES }, (_, shade) => shadeOf(kindColour(kind, this.theme), shade)),
    );
    this.ramps = colours.map((colour) => ramp(colour, back));
    const faded = (colour: [number, number, number]) => colour.map((c, i) => back[i] + (c - back[i]) * 0.25) as [number, number, number];
    this.dim = colours.map((colour) => ramp(faded(colour), back));
    this.draw();
  }

  draw(): void {
    if (this.queued) return;
    this.queued = true;
    requestAnimationFrame(() => {
      this.queued = false;
      const began = performance.now();
      this.paint();
      this.painted();
      this.frames.push(performance.now() - began);
      if (!this.shownAt && this.painter.filled) this.shownAt = performance.now();
      if (this.frames.length > 600) this.frames.shift();
    });
  }

  get width(): number {
    return this.scroller.clientWidth;
  }

  x(time: number): number {
    return ((time - this.t0) / (this.t1 - this.t0)) * this.width;
  }

  time(x: number): number {
    return this.t0 + (x / this.width) * (this.t1 - this.t0);
  }

  visibleRows(): Row[] {
    const top = this.scroller.scrollTop;
    const bottom = top + this.scroller.clientHeight;
    return this.rows.filter((row) => row.y + row.height > top + RULER && row.y < bottom);
  }

  private paint(): void {
    const ratio = window.devicePixelRatio || 1;
    this.scroller.style.height = `${Math.min(this.height + 10, Math.max(window.innerHeight * 0.66, 240))}px`;
    const width = Math.max(this.width, 1);
    const height = Math.max(this.scroller.clientHeight, 1);
    const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (this.canvas.width !== w || this.canvas.height !== h) {
      this.canvas.width = w;
      this.canvas.height = h;
      this.canvas.style.width = `${width}px`;
      this.canvas.style.height = `${height}px`;
      // The canvas stays in view and fills the scroller; the spacer below it is what is scrolled.
      this.spacer.style.height = `${Math.max(0, this.height + 8 - height)}px`;
    }
    const rows = this.visibleRows();
    this.painter.begin();
    this.paintLanes(rows, { t0: this.t0, t1: this.t1, width: w }, h, ratio);
    const c = this.context;
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.font = "11px system-ui, sans-serif";
    c.textBaseline = "middle";
    this.paintCounters(rows);
    this.paintNames(ratio);
    this.paintHeads(rows);
    this.paintMarks(rows, height);
    this.paintRuler(width);
  }

  private paintLanes(rows: Row[], frame: Frame, height: number, ratio: number): void {
    const { width } = frame;
    if (this.image.width !== width || this.image.height !== height) this.image = new ImageData(width, height);
    const { image } = this;
    const pixels = new Uint32Array(image.data.buffer);
    const [r, g, b] = this.theme.back;
    const back = ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
    pixels.fill(back);
    const line = new Uint32Array(width);
    const lanes = rows.filter((row) => row.kind === "lane");
    const most = Math.max(1, Math.floor(TILES / Math.max(lanes.length, 1)));
    const { labels } = this.index;
    const { matches, ramps, dim } = this;
    const shade = (label: number, cover: number) =>
      (matches && !matches.has(label) ? dim : ramps)[labels[label][1] * SHADES + (labels[label][0] % SHADES)][cover];
    const shadeKind = (kind: number, cover: number) => (matches ? dim : ramps)[kind * SHADES][cover];
    for (const row of lanes) {
      this.painter.paint(row.lane, frame, line, back, most, shade, shadeKind, NAME_PX * ratio);
      const top = Math.max(0, Math.round((row.y - this.scroller.scrollTop + 1) * ratio));
      const bottom = Math.min(height, Math.round((row.y - this.scroller.scrollTop + row.height - 1) * ratio));
      for (let y = top; y < bottom; y++) pixels.set(line, y * width);
    }
    for (const row of rows) this.drawGaps(row, pixels, frame, height, ratio);
    this.drawPath(rows, pixels, frame, height, ratio);
    this.context.setTransform(1, 0, 0, 1, 0, 0);
    this.context.putImageData(image, 0, 0);
  }

  private paintNames(ratio: number): void {
    const c = this.context;
    const top = new Map(this.visibleRows().map((row) => [row.kind === "lane" ? row.lane : -1, row.y] as const));
    c.textAlign = "left";
    for (const box of this.painter.wide) {
      const [name, kind] = this.index.labels[box.label];
      const colour = kindColour(this.index.kinds[kind], this.theme);
      const bright = colour[0] * 0.3 + colour[1] * 0.59 + colour[2] * 0.11;
      const x0 = Math.max(0, box.x0 / ratio) + 4;
      const room = Math.min(this.width, box.x1 / ratio) - x0 - 3;
      const text = fitText(c, this.index.names[name], room);
      if (!text) continue;
      c.fillStyle = this.matches && !this.matches.has(box.label) ? this.theme.faint : bright > 140 ? "#101418" : "#ffffff";
      c.fillText(text, x0, top.get(box.lane)! - this.scroller.scrollTop + LANE / 2 + 0.5);
    }
  }

  private paintHeads(rows: Row[]): void {
    const c = this.context;
    c.textAlign = "left";
    for (const row of rows) {
      if (row.kind !== "head") continue;
      const y = row.y - this.scroller.scrollTop;
      c.strokeStyle = this.theme.line;
      c.beginPath();
      c.moveTo(0, y + 0.5);
      c.lineTo(this.width, y + 0.5);
      c.stroke();
      c.fillStyle = this.theme.text;
      c.font = "600 11px system-ui, sans-serif";
      c.fillText(fitText(c, row.text, this.width - 12), 6, y + HEAD / 2 + 1);
      c.font = "11px system-ui, sans-serif";
    }
  }

  // Idle time, in pixels of the image: of a device in a strip, of a stream between its spans. A pattern for each cause
  // where a gap is wide enough for one; elsewhere the strip is as dark as its pixel's share of idle time.
  private drawGaps(row: Row, pixels: Uint32Array, { t0, t1, width }: Frame, height: number, ratio: number): void {
    if (row.kind !== "gaps" && row.kind !== "lane") return;
    const gaps = this.gaps[row.kind === "gaps" ? row.group : (this.streamGaps.get(row.lane) ?? -1)];
    if (!gaps) return;
    const step = (t1 - t0) / width;
    const strip = row.kind === "gaps";
    const { faint, back } = this.theme;
    const y = row.y - this.scroller.scrollTop;
    const [top, bottom] = [Math.max(0, Math.round((y + 1) * ratio)), Math.min(height, Math.round((y + row.height - 1) * ratio))];
    let next = 0; // the first pixel without narrow gaps
    for (let i = firstAfter(gaps.end, t0); i < gaps.start.length && gaps.start[i] < t1; i++) {
      const x0 = Math.max(Math.round((gaps.start[i] - t0) / step), 0);
      const x1 = Math.min(Math.max(Math.round((gaps.end[i] - t0) / step), x0 + 1), width);
      if (x1 - x0 >= PATTERN_PX * ratio) {
        const cause = this.index.causes[gaps.cause[i]];
        const colour = pixel(causeColour(cause, this.theme.dark), back, strip ? 1 : 0.6);
        const inPattern = causePattern(cause);
        for (let at = top; at < bottom; at++)
          for (let x = x0; x < x1; x++) if (inPattern(Math.floor(x / ratio), Math.floor(at / ratio))) pixels[at * width + x] = colour;
        continue;
      }
      if (strip)
        for (let x = Math.max(next, Math.floor((gaps.start[i] - t0) / step)); x < Math.min(x1, width); x++) {
          const share = (idleBefore(gaps, t0 + (x + 1) * step) - idleBefore(gaps, t0 + x * step)) / step;
          const shade = pixel(faint, back, 0.1 + 0.6 * Math.min(share, 1));
          for (let at = top; at < bottom; at++) pixels[at * width + x] = shade;
          next = x + 1;
        }
      i = Math.max(i, firstAfter(gaps.end, t0 + x1 * step, i) - 1);
    }
  }

  // Edges whose effect is in view, while they are few.
  private paintFlows(top: Map<number, number>): void {
    const { flows } = this;
    if (!flows) return;
    const first = firstAfter(flows.time, this.t0);
    const last = firstAfter(flows.time, this.t1);
    if (last - first > ARROWS) return;
    this.context.globalAlpha = 0.5;
    for (let i = first; i < last; i++)
      if (flows.from[i] !== flows.to[i])
        this.paintArrow(top, [flows.from[i], flows.time[i] - unzigzag(flows.back[i])], [flows.to[i], flows.time[i]]);
    this.context.globalAlpha = 1;
  }

  private paintCounters(rows: Row[]): void {
    const c = this.context;
    for (const row of rows) {
      const values = row.kind === "counter" ? this.series[row.series] : undefined;
      if (row.kind !== "counter" || !values) continue;
      const { low, high } = this.index.counters[row.series];
      const base = row.y - this.scroller.scrollTop + row.height - 2;
      const scale = (row.height - 6) / (high - low || 1);
      c.fillStyle = this.theme.accent;
      c.globalAlpha = 0.35;
      let i = Math.max(firstAfter(values.time, this.t0) - 1, 0);
      for (let x = 0; x < this.width; x++) {
        const until = this.time(x + 1);
        let top = -Infinity;
        if (values.time[i] < until) top = values.value[i];
        const next = firstAfter(values.time, until, i);
        for (let k = i + 1; k < next && k < i + 64; k++) top = Math.max(top, values.value[k]);
        i = Math.max(next - 1, i);
        if (top > -Infinity) c.fillRect(x, base - (top - low) * scale, 1, (top - low) * scale);
      }
      c.globalAlpha = 1;
    }
  }

  // The critical path: a line below the spans that are on it, in pixels of the image.
  private drawPath(rows: Row[], pixels: Uint32Array, { t0, t1, width }: Frame, height: number, ratio: number): void {
    const { path } = this;
    if (!path) return;
    const top = new Map(rows.map((row) => [row.kind === "lane" ? row.lane + 1 : -1, row.y] as const));
    const step = (t1 - t0) / width;
    const colour = pixel(this.theme.path, this.theme.back, 1);
    const thick = Math.round(2 * ratio);
    for (let i = firstAfter(path.end, t0); i < path.start.length && path.start[i] < t1; i++) {
      const begin = path.start[i];
      const row = top.get(path.lane[i]);
      if (row !== undefined) {
        const x0 = Math.max(Math.floor((begin - t0) / step), 0);
        const x1 = Math.min(Math.max(Math.ceil((path.end[i] - t0) / step), x0 + 1), width);
        const y0 = Math.round((row - this.scroller.scrollTop + LANE - 2.5) * ratio);
        for (let y = Math.max(y0, 0); y < Math.min(y0 + thick, height); y++) pixels.fill(colour, y * width + x0, y * width + x1);
      }
      // Of pieces much narrower than a pixel a few are enough.
      if (path.end[i] - begin < step / 4) i = Math.max(i, firstAfter(path.end, begin + step / 4, i) - 1);
    }
  }

  private paintMarks(rows: Row[], height: number): void {
    const c = this.context;
    const top = new Map(rows.map((row) => [row.kind === "lane" ? row.lane : -1, row.y] as const));
    if (this.range) {
      const [low, high] = this.range.map((time) => this.x(time));
      c.fillStyle = this.theme.accent;
      c.globalAlpha = 0.14;
      c.fillRect(low, RULER, high - low, height);
      c.globalAlpha = 1;
    }
    if (this.mark !== null) {
      c.strokeStyle = this.theme.accent;
      c.beginPath();
      c.moveTo(this.x(this.mark), 0);
      c.lineTo(this.x(this.mark), height);
      c.stroke();
    }
    const span = this.selected;
    const y = span ? top.get(span.lane) : undefined;
    if (span && y !== undefined) {
      const x0 = this.x(span.start);
      c.strokeStyle = this.theme.text;
      c.lineWidth = 2;
      c.strokeRect(x0, y - this.scroller.scrollTop + 1, Math.max(this.x(span.end) - x0, 2), LANE - 2);
      c.lineWidth = 1;
    }
    this.paintFlows(top);
    this.arrows.forEach((arrow) => this.paintArrow(top, arrow.from, arrow.to));
    this.index.missing.forEach(([from, to]) => this.paintArrow(top, from, to, true));
  }

  arrows: { from: [number, number]; to: [number, number] }[] = []; // lane and time of both ends

  // An edge that is missing is dashed and red.
  private paintArrow(top: Map<number, number>, from: [number, number], to: [number, number], missing = false): void {
    const [y0, y1] = [top.get(from[0]), top.get(to[0])];
    if (y0 === undefined || y1 === undefined) return;
    const c = this.context;
    const [ax, ay] = [this.x(from[1]), y0 - this.scroller.scrollTop + LANE / 2];
    const [bx, by] = [this.x(to[1]), y1 - this.scroller.scrollTop + LANE / 2];
    const bend = Math.max(6, Math.abs(bx - ax) / 3);
    c.strokeStyle = c.fillStyle = missing ? this.theme.danger : this.theme.text;
    c.lineWidth = missing ? 2 : 1.25;
    c.setLineDash(missing ? [6, 4] : []);
    c.beginPath();
    c.moveTo(ax, ay);
    c.bezierCurveTo(ax + bend, ay, bx - bend, by, bx, by);
    c.stroke();
    c.setLineDash([]);
    c.lineWidth = 1;
    c.beginPath();
    c.moveTo(bx, by);
    c.lineTo(bx - 6, by - 3);
    c.lineTo(bx - 6, by + 3);
    c.fill();
    if (!missing) return;
    c.textAlign = "left";
    c.fillText("missing", (ax + bx) / 2 + 6, (ay + by) / 2);
  }

  private paintRuler(width: number): void {
    const c = this.context;
    const [r, g, b] = this.theme.back;
    c.fillStyle = `rgb(${r},${g},${b})`;
    c.fillRect(0, 0, width, RULER);
    c.strokeStyle = this.theme.line;
    c.fillStyle = this.theme.faint;
    c.textAlign = "left";
    const about = ((this.t1 - this.t0) / width) * (this.t1 - this.t0 < this.t1 / 1e4 ? 150 : 100);
    const power = 10 ** Math.floor(Math.log10(about));
    const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= about)!;
    for (let time = Math.ceil(this.t0 / step) * step; time < this.t1; time += step) {
      const x = Math.round(this.x(time)) + 0.5;
      c.beginPath();
      c.moveTo(x, RULER - 6);
      c.lineTo(x, RULER);
      c.stroke();
      c.fillText(format.mark(time, step, Math.max(Math.abs(this.t0), this.t1)), x + 3, RULER / 2);
    }
  }

  // ---- movement ---------------------------------------------------------------------------------------------------

  show(t0: number, t1: number): void {
    const least = Math.max(t1 - t0, LEAST_NS);
    const middle = (t0 + t1) / 2;
    const most = this.index.wall * 1.1 + LEAST_NS;
    const length = Math.min(least, most);
    const margin = this.index.wall * 0.05 + LEAST_NS;
    const low = Math.max(-margin, Math.min(middle - length / 2, this.index.wall + margin - length));
    this.t0 = low;
    this.t1 = low + length;
    this.draw();
  }

  zoom(factor: number, at = (this.t0 + this.t1) / 2): void {
    this.show(at - (at - this.t0) * factor, at + (this.t1 - at) * factor);
  }

  pan(share: number): void {
    const by = (this.t1 - this.t0) * share;
    this.show(this.t0 + by, this.t1 + by);
  }

  fit(): void {
    this.show(0, this.index.wall);
  }

  scrollTo(lane: number): void {
    const { track, depth } = this.index.lanes[lane];
    if (depth > 0 && this.folded.has(track)) this.fold(track);
    const row = this.rows.find((each) => each.kind === "lane" && each.lane === lane);
    if (!row) return;
    const top = this.scroller.scrollTop + RULER + HEAD;
    const bottom = this.scroller.scrollTop + this.scroller.clientHeight - LANE;
    if (row.y < top || row.y > bottom) this.scroller.scrollTop = Math.max(0, row.y - this.scroller.clientHeight / 2);
  }

  reveal(span: Span): void {
    this.scrollTo(span.lane);
    const length = span.end - span.start;
    const inside = span.start >= this.t0 && span.end <= this.t1 && this.x(span.end) - this.x(span.start) >= 3;
    if (!inside) {
      const around = Math.max(length * 4, Math.min(this.t1 - this.t0, length * 400));
      this.show(span.start + length / 2 - around / 2, span.start + length / 2 + around / 2);
    }
    this.draw();
  }

  rowAt(y: number): Row | undefined {
    const at = y + this.scroller.scrollTop;
    return this.rows.find((each) => at >= each.y && at < each.y + each.height);
  }

  // Idle time of a device or a stream at a time: its cause and its length.
  gapAt(row: Row, time: number): { cause: string; length: number } | null {
    const number = row.kind === "gaps" ? row.group : row.kind === "lane" ? this.streamGaps.get(row.lane) : undefined;
    const gaps = number === undefined ? undefined : this.gaps[number];
    if (!gaps) return null;
    const i = firstAfter(gaps.end, time);
    if (i >= gaps.start.length || gaps.start[i] > time) return null;
    return { cause: this.index.causes[gaps.cause[i]], length: gaps.end[i] - gaps.start[i] };
  }

  // The value of a counter at a time, as text.
  valueAt(series: number, time: number): string | null {
    const values = this.series[series];
    const i = values ? firstAfter(values.time, time) - 1 : -1;
    return i < 0 ? null : format.value(this.index.counters[series].name, values.value[i]);
  }

  // The span of a lane at a time, or the next one that begins within `slack` of it.
  async spanAt(lane: number, time: number, slack = 0): Promise<Span | null> {
    const grid = this.index.grid;
    const entry = this.index.lanes[lane].tiles.find((tile) => tile.e * grid > time - slack || tile.e * grid === time);
    if (!entry) return null;
    const tile = await this.tiles.load(entry);
    let i = tile.find(time - slack);
    if (i === tile.end.length) i--;
    if (tile.start[i] > time + slack) return null;
    return { lane, label: tile.label[i], start: tile.start[i], end: tile.end[i], tile: entry, i };
  }

  // The neighbour of a span in its lane: `by` is 1 or -1.
  async neighbour(span: Span, by: number): Promise<Span | null> {
    const { tiles } = this.index.lanes[span.lane];
    let at = tiles.indexOf(span.tile);
    let i = span.i + by;
    if (i < 0) i = (tiles[--at]?.n ?? 0) - 1;
    else if (i >= span.tile.n) {
      at++;
      i = 0;
    }
    const entry = tiles[at];
    if (!entry) return null;
    const tile = await this.tiles.load(entry);
    return { lane: span.lane, label: tile.label[i], start: tile.start[i], end: tile.end[i], tile: entry, i };
  }
}

// A colour of the theme over its background, as a pixel of an ImageData.
function pixel(colour: string, back: [number, number, number], share: number): number {
  const number = parseInt(colour.slice(1), 16);
  const [r, g, b] = [16, 8, 0].map((shift, i) => Math.round(back[i] + (((number >> shift) & 255) - back[i]) * share));
  return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
}

// The idle time before a time.
function idleBefore(gaps: { start: Float64Array; end: Float64Array; before: Float64Array }, time: number): number {
  const i = firstAfter(gaps.end, time);
  return gaps.before[i] + (i < gaps.start.length ? Math.max(0, time - gaps.start[i]) : 0);
}

export function firstAfter(times: Float64Array, time: number, low = 0): number {
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] > time) high = middle;
    else low = middle + 1;
  }
  return low;
}

function fitText(c: CanvasRenderingContext2D, text: string, room: number): string {
  if (room < 12) return "";
  if (text.length > 300) text = text.slice(0, 300);
  if (c.measureText(text).width <= room) return text;
  let low = 0;
  let high = Math.min(text.length, Math.ceil(room / 3));
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (c.measureText(`${text.slice(0, middle)}…`).width <= room) low = middle;
    else high = middle - 1;
  }
  return low > 1 ? `${text.slice(0, low)}…` : "";
}
