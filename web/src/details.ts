// The panel about the selected span or the selected range.

import { columns, type Index, inflateOnce, unzigzag } from "./data";
import * as format from "./format";
import type { Span, Timeline } from "./timeline";

const NAMES = 15; // of a selection

export interface Link {
  kind: string;
  incoming: boolean;
  lane: number;
  time: number;
}

export function element(name: string, text = "", attributes: Record<string, string> = {}): HTMLElement {
  const made = document.createElement(name);
  made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

function list(rows: [string, string | Node][]): HTMLElement {
  const made = element("dl");
  for (const [key, value] of rows) {
    const cell = element("dd");
    cell.append(value);
    made.append(element("dt", key), cell);
  }
  return made;
}

// Edges of a span: what it caused and what caused it.
export async function linksOf(index: Index, span: Span): Promise<Link[]> {
  const { x, ew, en } = span.tile;
  if (x === undefined || !ew || !en) return [];
  const [step, what, lane, time] = columns(await inflateOnce(x), en, ew);
  const found: Link[] = [];
  let at = 0;
  for (let i = 0; i < en; i++) {
    at += step[i];
    if (at > span.i) break;
    if (at === span.i)
      found.push({
        kind: index.edges[what[i] >> 1],
        incoming: what[i] % 2 === 1,
        lane: lane[i],
        time: span.start + unzigzag(time[i]) * index.grid,
      });
  }
  return found;
}

async function line(block: number | undefined, i: number): Promise<Record<string, unknown>> {
  if (block === undefined) return {};
  const text = new TextDecoder().decode(await inflateOnce(block)).split("\n")[i];
  try {
    return text ? (JSON.parse(text) as Record<string, unknown>) : {};
  } catch {
    return { args: text };
  }
}

export async function showSpan(
  panel: HTMLElement,
  timeline: Timeline,
  span: Span,
  go: (span: Span) => void,
): Promise<void> {
  const { index } = timeline;
  const [name, kind] = index.labels[span.label];
  const track = index.tracks[index.lanes[span.lane].track];
  const rows: [string, string | Node][] = [
    ["kind", index.kinds[kind]],
    ["on", track.group ? `${track.group} · ${track.name}` : track.name],
    ["start", `${format.time(span.start)} (${format.exact(span.start)})`],
    ["duration", `${format.time(span.end - span.start)} (${format.exact(span.end - span.start)})`],
  ];
  if (index.grid > 1) rows.push(["resolution", `${index.grid} ns`]);
  for (const [key, value] of Object.entries(await line(span.tile.a, span.i)))
    rows.push([key, typeof value === "string" ? value : JSON.stringify(value)]);
  const tile = await timeline.tiles.load(span.tile);
  const stack = tile.stack[span.i];
  if (timeline.onPath(span)) rows.push(["critical path", "on it: shorter work here shortens the run"]);
  else if (span.tile.k !== undefined && span.tile.kw) {
    const [slack] = columns(await inflateOnce(span.tile.k), span.tile.n, span.tile.kw);
    if (slack[span.i] > 0) rows.push(["slack", `${format.time(slack[span.i] - 1)}: how much the critical path must shrink before this is on it`]);
  }
  const links = await linksOf(index, span);
  if (timeline.selected !== span) return; // another one was selected meanwhile
  const parts: Node[] = [element("h3", index.names[name]), list(rows)];
  if (links.length) parts.push(await linkList(timeline, links, go));
  if (stack && index.stacks !== null) parts.push(await stackList(index.stacks, stack - 1));
  panel.replaceChildren(...parts);
  timeline.arrows = links.map((link) => {
    const here: [number, number] = [span.lane, link.incoming ? span.start : span.end];
    const there: [number, number] = [link.lane, link.time];
    return link.incoming ? { from: there, to: here } : { from: here, to: there };
  });
  timeline.draw();
}

async function linkList(timeline: Timeline, links: Link[], go: (span: Span) => void): Promise<HTMLElement> {
  const made = element("ul", "", { class: "links" });
  for (const link of links.slice(0, 50)) {
    const other = await timeline.spanAt(link.lane, link.time);
    if (!other) continue;
    const name = timeline.index.names[timeline.index.labels[other.label][0]];
    const button = element("button", `${link.incoming ? "from" : "to"} ${name} (${link.kind})`, { type: "button" });
    button.addEventListener("click", () => go(other));
    const item = element("li");
    item.append(button);
    made.append(item);
  }
  return made;
}

async function stackList(block: number, number: number): Promise<HTMLElement> {
  const text = new TextDecoder().decode(await inflateOnce(block)).split("\n")[number] ?? "[]";
  const made = element("ol", "", { class: "stack" });
  for (const frame of JSON.parse(text || "[]") as [string, number, string][])
    made.append(element("li", `${frame[2]}  ${frame[0]}:${frame[1]}`));
  return made;
}

// Exact sums of a range: busy time of devices and of each thread's outermost lane, idle time by cause, time by name.
export async function showRange(panel: HTMLElement, timeline: Timeline, low: number, high: number): Promise<void> {
  const { index } = timeline;
  const grid = index.grid;
  const tracks: [string, number][] = timeline.busyOf(low, high).map(({ name, busy }) => [name, busy]);
  const names = new Map<number, [number, number]>();
  for (const lane of index.lanes) {
    let busy = 0;
    let count = 0;
    for (const entry of lane.tiles) {
      if (entry.e * grid < low || entry.t * grid > high) continue;
      const tile = await timeline.tiles.load(entry);
      busy += tile.busy(high) - tile.busy(low);
      for (let i = tile.find(low); i < tile.end.length && tile.start[i] < high; i++) {
        const known = names.get(tile.label[i]) ?? [0, 0];
        known[0] += Math.min(tile.end[i], high) - Math.max(tile.start[i], low);
        known[1]++;
        names.set(tile.label[i], known);
        count++;
      }
    }
    const track = index.tracks[lane.track];
    if (count && lane.depth === 0 && track.kind !== "stream") tracks.push([track.name, busy]);
  }
  if (timeline.range?.[0] !== low || timeline.range[1] !== high) return;
  const busy = tracks.map(([name, time]): Sum => [name, time, format.percent(time, high - low)]);
  const parts: Node[] = [element("h3", `Selection of ${format.time(high - low)} (${format.exact(high - low)})`)];
  if (busy.length) parts.push(sums(["busy", "time", "share"], busy));
  const idle = timeline.idleOf(low, high).flatMap(({ track, causes }) =>
    causes.map(([cause, time]): Sum => [`${index.tracks[track].group || index.tracks[track].name}: ${cause}`, time]),
  );
  if (idle.length) parts.push(sums(["idle, by cause", "time"], idle));
  const most = [...names].sort((a, b) => b[1][0] - a[1][0]);
  const named = most.slice(0, NAMES).map(([label, [time, count]]): Sum => [
    index.names[index.labels[label][0]], time, count.toLocaleString("en-US"),
  ]);
  if (named.length) parts.push(sums(["name", "time", "count"], named));
  if (most.length > NAMES) parts.push(element("p", `and ${most.length - NAMES} more names`, { class: "note" }));
  panel.replaceChildren(...parts);
}

type Sum = [name: string, time: number, ...more: string[]];

// Times as people read them, with the nanoseconds below.
function sums(heads: string[], rows: Sum[]): HTMLElement {
  const scroll = element("div", "", { class: "scroll" });
  const table = element("table");
  table.append(row("th", heads), ...rows.map(([name, time, ...more]) => {
    const made = row("td", [name, format.time(time), ...more]);
    made.children[1].append(element("small", format.exact(time)));
    return made;
  }));
  scroll.append(table);
  return scroll;
}

function row(cell: string, texts: string[]): HTMLElement {
  const made = element("tr");
  texts.forEach((text, i) => made.append(element(cell, text, i ? { class: "number" } : {})));
  return made;
}
