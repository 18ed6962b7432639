// What is under the pointer: a span, idle time with its cause, or the value of a counter.

import { element } from "./details";
import * as format from "./format";
import type { Timeline } from "./timeline";

const NEAR_PX = 2; // how far from a narrow span the pointer may be

export class Tip {
  private latest = 0; // a span may have to be inflated; meanwhile the pointer moves on

  constructor(
    private readonly place: HTMLElement,
    private readonly timeline: Timeline,
  ) {}

  hide(): void {
    this.latest++;
    this.place.hidden = true;
  }

  async show(x: number, y: number): Promise<void> {
    const wanted = ++this.latest;
    const lines = y < 22 ? null : await this.lines(x, y);
    if (wanted !== this.latest) return;
    this.place.hidden = lines === null;
    if (lines === null) return;
    this.place.replaceChildren(element("strong", lines[0]), ...lines.slice(1).map((line) => element("div", line)));
    const room = this.timeline.width;
    const left = x + 14 + this.place.offsetWidth > room ? x - 14 - this.place.offsetWidth : x + 14;
    this.place.style.setProperty("left", `${Math.max(0, left)}px`);
    this.place.style.setProperty("top", `${y + 16}px`);
  }

  private async lines(x: number, y: number): Promise<string[] | null> {
    const { timeline } = this;
    const { index } = timeline;
    const row = timeline.rowAt(y);
    const time = timeline.time(x);
    if (row?.kind === "lane") {
      const span = await timeline.spanAt(row.lane, time, ((timeline.t1 - timeline.t0) / timeline.width) * NEAR_PX);
      if (span) {
        const [name, kind] = index.labels[span.label];
        return [index.names[name].slice(0, 300), `${format.time(span.end - span.start)} · ${index.kinds[kind]}`, `at ${format.time(span.start)}`];
      }
    }
    if (row?.kind === "counter") {
      const value = timeline.valueAt(row.series, time);
      return value === null ? null : [value, index.counters[row.series].name];
    }
    const gap = row && timeline.gapAt(row, time);
    return gap ? [`idle: ${gap.cause}`, format.time(gap.length)] : null;
  }
}
