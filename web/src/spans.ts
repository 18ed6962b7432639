// The spans in view as a table: for screen readers, and to read exact times.

import { element } from "./details";
import * as format from "./format";
import type { Span, Timeline } from "./timeline";

const ROWS = 200;
const MOST = 200_000; // spans that are looked at for it

// The longest spans in view by start, and what is left out.
async function inView(timeline: Timeline): Promise<{ spans: Span[]; text: string }> {
  const { index, t0, t1 } = timeline;
  const view = `from ${format.time(t0)} to ${format.time(t1)}`;
  const touched = index.lanes.flatMap((lane, number) =>
    lane.tiles.filter((tile) => tile.e * index.grid > t0 && tile.t * index.grid < t1).map((tile) => [number, tile] as const),
  );
  const about = touched.reduce((sum, [, tile]) => sum + tile.n, 0);
  if (about > MOST) return { spans: [], text: `About ${about.toLocaleString("en-US")} spans ${view}: zoom in to list them.` };
  const found: Span[] = [];
  for (const [lane, entry] of touched) {
    const tile = await timeline.tiles.load(entry);
    for (let i = tile.find(t0); i < entry.n && tile.start[i] < t1; i++)
      if (!timeline.matches || timeline.matches.has(tile.label[i]))
        found.push({ lane, label: tile.label[i], start: tile.start[i], end: tile.end[i], tile: entry, i });
  }
  const total = `${found.length.toLocaleString("en-US")} span${found.length === 1 ? "" : "s"} ${view}`;
  found.sort((a, b) => b.end - b.start - (a.end - a.start));
  const spans = found.slice(0, ROWS).sort((a, b) => a.start - b.start || b.end - a.end);
  return { spans, text: found.length > ROWS ? `The longest ${ROWS} of ${total}.` : `${total}.` };
}

export async function listSpans(place: HTMLElement, timeline: Timeline, go: (span: Span) => void): Promise<void> {
  const { index } = timeline;
  const { spans, text } = await inView(timeline);
  const table = element("table");
  const head = element("tr");
  ["name", "kind", "on", "start", "duration"].forEach((each, i) =>
    head.append(element("th", each, { scope: "col", ...(i > 2 ? { class: "number" } : {}) })),
  );
  const [top, body] = [element("thead"), element("tbody")];
  top.append(head);
  for (const span of spans) {
    const [name, kind] = index.labels[span.label];
    const track = index.tracks[index.lanes[span.lane].track];
    const button = element("button", index.names[name], { type: "button", class: "plain" });
    button.addEventListener("click", () => go(span));
    const cells = [index.kinds[kind], track.group ? `${track.group} · ${track.name}` : track.name];
    const times = [format.exact(span.start), format.exact(span.end - span.start)];
    const [line, first] = [element("tr"), element("td")];
    first.append(button);
    line.append(first, ...cells.map((cell) => element("td", cell)), ...times.map((cell) => element("td", cell, { class: "number" })));
    body.append(line);
  }
  table.append(element("caption", text), top, body);
  place.replaceChildren(table);
}
