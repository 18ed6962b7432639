// Starts the page: reads the index, connects the timeline with keys, pointer, search, panel and the URL's hash.

import { themeOf } from "./colours";
import { readIndex } from "./data";
import { linksOf, showRange, showSpan } from "./details";
import * as format from "./format";
import { enableFlame, filterFlame } from "./flame";
import { showCauses, showKinds } from "./gaps";
import { listSpans } from "./spans";
import { Strip } from "./strip";
import { enableSorting, filterTables } from "./tables";
import { Tip } from "./tip";
import { type Span, Timeline } from "./timeline";

const get = <T extends HTMLElement>(id: string): T => document.getElementById(id) as T;

const index = readIndex();
const panel = get("panel");
const live = get("live");
const search = get<HTMLInputElement>("search");
const canvas = get<HTMLCanvasElement>("lanes");
const strip = new Strip(index, get<HTMLCanvasElement>("strip"));
const timeline = new Timeline(index, canvas, get("scroller"), get("spacer"), strip);
timeline.painted = () => strip.paint(timeline);
const tip = new Tip(get("tip"), timeline);
const hint = [...panel.childNodes]; // what the panel has without a selection

// ---- selection ------------------------------------------------------------------------------------------------------

function select(span: Span | null, reveal = false): void {
  timeline.selected = span;
  timeline.arrows = [];
  if (span) {
    timeline.range = null;
    const name = index.names[index.labels[span.label][0]];
    live.textContent = `${name}, ${format.time(span.end - span.start)}, at ${format.time(span.start)}`;
    void showSpan(panel, timeline, span, (other) => select(other, true));
    if (reveal) timeline.reveal(span);
  } else panel.replaceChildren(...hint);
  timeline.draw();
  store();
}

function selectRange(a: number, b: number): void {
  const [low, high] = [Math.min(a, b), Math.max(a, b)];
  timeline.selected = null;
  timeline.arrows = [];
  timeline.range = [low, high];
  timeline.draw();
  store();
  live.textContent = `Selection from ${format.time(low)} to ${format.time(high)}`;
  void showRange(panel, timeline, low, high);
}

// What is in view, as far as the trace reaches: the sums of everything are F, then r.
const selectView = (): void => selectRange(Math.max(0, timeline.t0), Math.min(index.wall, timeline.t1));

async function follow(incoming: boolean): Promise<void> {
  const span = timeline.selected;
  if (!span) return;
  const link = (await linksOf(index, span)).find((each) => each.incoming === incoming);
  const other = link && (await timeline.spanAt(link.lane, link.time));
  if (other) select(other, true);
  else live.textContent = incoming ? "No recorded cause." : "No recorded effect.";
}

async function step(by: number): Promise<void> {
  const span = timeline.selected;
  const next = span ? await timeline.neighbour(span, by) : await firstVisible();
  if (next) select(next, true);
}

async function firstVisible(): Promise<Span | null> {
  for (const row of timeline.visibleRows())
    if (row.kind === "lane") {
      const found = await timeline.spanAt(row.lane, (timeline.t0 + timeline.t1) / 2, (timeline.t1 - timeline.t0) / 2);
      if (found) return found;
    }
  return null;
}

async function changeLane(by: number): Promise<void> {
  const span = timeline.selected;
  if (!span) return step(1);
  for (let lane = span.lane + by; lane >= 0 && lane < index.lanes.length; lane += by) {
    const found = await timeline.spanAt(lane, span.start, (timeline.t1 - timeline.t0) / 20);
    if (found) return select(found, true);
  }
}

// ---- search ---------------------------------------------------------------------------------------------------------

function runSearch(): void {
  const query = search.value.trim().toLowerCase();
  const wanted = index.names.map((name) => name.toLowerCase().includes(query));
  const matches = index.labels.flatMap(([name], label) => (wanted[name] ? [label] : []));
  timeline.matches = query ? new Set(matches) : null;
  const found = `${matches.length.toLocaleString("en-US")} name${matches.length === 1 ? "" : "s"}`;
  get("matches").textContent = query ? `${found}; n and N: next and previous span` : "";
  live.textContent = query ? `${found} found` : "";
  filterTables(query);
  filterFlame(query);
  timeline.draw();
  store();
}

// The next span in time whose name matches, over all lanes.
async function nextMatch(by: number): Promise<void> {
  const { matches } = timeline;
  if (!matches) return search.focus();
  const from = timeline.selected ? timeline.selected.start : by > 0 ? timeline.t0 : timeline.t1;
  let best: Span | null = null;
  for (let lane = 0; lane < index.lanes.length; lane++) {
    const found = await matchInLane(lane, from, by, matches, best);
    if (found) best = found;
  }
  if (best) select(best, true);
  else live.textContent = "No further match.";
}

async function matchInLane(lane: number, from: number, by: number, matches: Set<number>, best: Span | null): Promise<Span | null> {
  const tiles = by > 0 ? index.lanes[lane].tiles : [...index.lanes[lane].tiles].reverse();
  for (const entry of tiles) {
    const [low, high] = [entry.t * index.grid, entry.e * index.grid];
    if (by > 0 ? high < from : low > from) continue;
    if (best && (by > 0 ? low >= best.start : high <= best.start)) return null;
    const tile = await timeline.tiles.load(entry);
    for (let k = 0; k < entry.n; k++) {
      const i = by > 0 ? k : entry.n - 1 - k;
      const start = tile.start[i];
      const after = by > 0 ? start > from : start < from;
      if (after && matches.has(tile.label[i])) {
        if (best && (by > 0 ? start >= best.start : start <= best.start)) return null;
        return { lane, label: tile.label[i], start, end: tile.end[i], tile: entry, i };
      }
    }
  }
  return null;
}

// ---- the hash: #v=<start>,<end>&s=<lane>,<time>&r=<start>,<end>&m=<time>&q=<search> ---------------------------------------

let storing = 0;

function store(): void {
  window.clearTimeout(storing);
  storing = window.setTimeout(() => {
    const parts = [`v=${Math.round(timeline.t0)},${Math.round(timeline.t1)}`];
    if (timeline.selected) parts.push(`s=${timeline.selected.lane},${Math.round(timeline.selected.start)}`);
    if (timeline.range) parts.push(`r=${timeline.range.map(Math.round).join(",")}`);
    if (timeline.mark !== null) parts.push(`m=${Math.round(timeline.mark)}`);
    if (search.value) parts.push(`q=${encodeURIComponent(search.value)}`);
    history.replaceState(null, "", `#${parts.join("&")}`);
    listIfOpen();
  }, 200);
}

async function restore(): Promise<void> {
  const wanted = new URLSearchParams(location.hash.slice(1));
  const numbers = (key: string) => (wanted.get(key) ?? "").split(",").map(Number);
  const [t0, t1] = numbers("v");
  if (t1 > t0) timeline.show(t0, t1);
  if (wanted.has("m")) timeline.mark = numbers("m")[0];
  if (wanted.has("q")) {
    search.value = wanted.get("q")!;
    runSearch();
  }
  if (wanted.has("r")) selectRange(...(numbers("r") as [number, number]));
  const [lane, time] = numbers("s");
  if (wanted.has("s") && index.lanes[lane]) {
    const span = await timeline.spanAt(lane, time);
    if (span) {
      select(span);
      timeline.scrollTo(span.lane);
    }
  }
  if (t1 > t0 || wanted.has("s")) get("timeline").scrollIntoView({ block: "start" });
}

// ---- findings by number ------------------------------------------------------------------------------------------------

const places = [...document.querySelectorAll<HTMLElement>("#races article, #findings li")];
let typed = "";

// 3 is the third finding; 1, 2 is the twelfth if there are as many. Its place on the timeline, or its text.
function goToFinding(digit: string): void {
  typed = places[Number(typed + digit) - 1] ? typed + digit : digit;
  const found = places[Number(typed) - 1];
  if (!found) return;
  live.textContent = found.textContent;
  const link = found.querySelector<HTMLAnchorElement>('a[href^="#v="]');
  if (link) {
    history.replaceState(null, "", link.hash);
    void restore();
    canvas.focus({ preventScroll: true });
  } else {
    found.tabIndex = -1;
    found.focus();
  }
}

// ---- the spans in view as a table -------------------------------------------------------------------------------------

const asTable = get<HTMLDetailsElement>("asTable");

function listIfOpen(): void {
  if (asTable.open) void listSpans(get("spans"), timeline, (span) => select(span, true));
}
asTable.addEventListener("toggle", listIfOpen);

// ---- input ----------------------------------------------------------------------------------------------------------

const help = get<HTMLDialogElement>("help");

const KEYS: Record<string, () => unknown> = {
  w: () => timeline.zoom(0.6),
  s: () => timeline.zoom(1 / 0.6),
  a: () => timeline.pan(-0.2),
  d: () => timeline.pan(0.2),
  f: () => (timeline.selected ? timeline.show(timeline.selected.start, timeline.selected.end) : timeline.fit()),
  F: () => timeline.fit(),
  "/": () => search.focus(),
  n: () => nextMatch(1),
  N: () => nextMatch(-1),
  m: () => setMark(),
  r: () => selectView(),
  c: () => timeline.selected && timeline.fold(index.lanes[timeline.selected.lane].track),
  C: () => timeline.foldAll(),
  t: () => openTable(),
  ".": () => step(1),
  ",": () => step(-1),
  "[": () => follow(true),
  "]": () => follow(false),
  ArrowRight: () => step(1),
  ArrowLeft: () => step(-1),
  ArrowDown: () => changeLane(1),
  ArrowUp: () => changeLane(-1),
  Enter: () => (timeline.selected ? panel.focus() : step(1)),
  Escape: () => escape(),
  "?": () => help.showModal(),
};
const NAVIGATION = ["ArrowRight", "ArrowLeft", "ArrowDown", "ArrowUp", "Enter"];

function openTable(): void {
  asTable.open = true;
  asTable.querySelector("summary")!.focus();
}

function setMark(): void {
  timeline.mark = timeline.selected ? timeline.selected.start : (timeline.t0 + timeline.t1) / 2;
  timeline.draw();
}

function escape(): void {
  timeline.range = timeline.mark = null;
  search.value = "";
  runSearch();
  select(null);
}

document.addEventListener("keydown", (event) => {
  const target = event.target as HTMLElement;
  if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
  if (target === search) {
    if (event.key === "Escape") escape();
    if (event.key === "Enter") void nextMatch(event.shiftKey ? -1 : 1);
    if (event.key === "Escape" || event.key === "Enter") canvas.focus();
    return;
  }
  if (NAVIGATION.includes(event.key) && target !== canvas) return;
  if (/^[0-9]$/.test(event.key)) return goToFinding(event.key);
  typed = "";
  if (!Object.hasOwn(KEYS, event.key)) return;
  event.preventDefault();
  act(event.key);
});

function act(key: string): void {
  tip.hide();
  void KEYS[key]();
  store();
}

search.addEventListener("input", runSearch);
window.addEventListener("hashchange", () => void restore());
get("scroller").addEventListener("scroll", () => {
  tip.hide();
  timeline.draw();
});
get("zoomIn").addEventListener("click", () => act("w"));
get("zoomOut").addEventListener("click", () => act("s"));
get("fit").addEventListener("click", () => act("F"));
get("helpButton").addEventListener("click", () => help.showModal());
get("helpClose").addEventListener("click", () => help.close());

canvas.addEventListener(
  "wheel",
  (event) => {
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      timeline.zoom(Math.exp(Math.max(-60, Math.min(60, event.deltaY)) / 120), timeline.time(event.offsetX));
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      timeline.pan((event.deltaX || event.deltaY) / timeline.width);
    } else return;
    store();
  },
  { passive: false },
);

// One pointer pans, or selects a range with Shift or on the ruler; two pinch.
const pointers = new Map<number, PointerEvent>();
let began: { x: number; y: number; t0: number; t1: number; selecting: boolean; moved: boolean } | null = null;

canvas.addEventListener("pointerdown", (event) => {
  canvas.setPointerCapture(event.pointerId);
  pointers.set(event.pointerId, event);
  const selecting = event.shiftKey || event.offsetY < 22;
  began = { x: event.offsetX, y: event.offsetY, t0: timeline.t0, t1: timeline.t1, selecting, moved: false };
});

canvas.addEventListener("pointermove", (event) => {
  const before = pointers.get(event.pointerId);
  if (!before || !began) {
    if (event.pointerType === "mouse") void tip.show(event.offsetX, event.offsetY);
    return;
  }
  tip.hide();
  if (pointers.size === 2) {
    const other = [...pointers.values()].find((each) => each.pointerId !== event.pointerId)!;
    const was = Math.abs(before.offsetX - other.offsetX) || 1;
    const now = Math.abs(event.offsetX - other.offsetX) || 1;
    timeline.zoom(was / now, timeline.time((event.offsetX + other.offsetX) / 2));
    began.moved = true;
  } else if (Math.abs(event.offsetX - began.x) + Math.abs(event.offsetY - began.y) > 4 || began.moved) {
    began.moved = true;
    if (began.selecting) timeline.range = [timeline.time(began.x), timeline.time(event.offsetX)].sort((a, b) => a - b) as [number, number];
    else {
      const by = ((event.offsetX - began.x) / timeline.width) * (began.t1 - began.t0);
      timeline.show(began.t0 - by, began.t1 - by);
      get("scroller").scrollTop -= event.movementY;
    }
    timeline.draw();
  }
  pointers.set(event.pointerId, event);
});

async function released(event: PointerEvent): Promise<void> {
  pointers.delete(event.pointerId);
  const start = began;
  if (!start || pointers.size) return;
  began = null;
  if (start.moved) {
    if (start.selecting && timeline.range) selectRange(...timeline.range);
    store();
    return;
  }
  const row = event.offsetY < 22 ? undefined : timeline.rowAt(event.offsetY);
  if (row?.kind === "head" && row.track >= 0) return timeline.fold(row.track);
  const slack = ((timeline.t1 - timeline.t0) / timeline.width) * 3;
  select(row?.kind === "lane" ? await timeline.spanAt(row.lane, timeline.time(event.offsetX), slack) : null);
}
canvas.addEventListener("pointerleave", () => tip.hide());
canvas.addEventListener("pointerup", (event) => void released(event));
canvas.addEventListener("pointercancel", (event) => pointers.delete(event.pointerId));

// ---- theme ----------------------------------------------------------------------------------------------------------

function restyle(): void {
  strip.restyle();
  timeline.restyle();
  showCauses(get("causes"), index.causes, new Set(index.gaps.flatMap((each) => each.used)), themeOf());
  showKinds(get("kinds"), index, themeOf());
}

const themes = get("theme");
themes.addEventListener("click", () => {
  const dark = getComputedStyle(document.documentElement).getPropertyValue("--scheme").trim() === "dark";
  document.documentElement.dataset["theme"] = dark ? "light" : "dark";
  restyle();
});
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", restyle);
window.addEventListener("resize", () => timeline.draw());

strip.listen(timeline, store);
restyle();
enableSorting();
enableFlame();
document.documentElement.classList.add("scripted");
timeline.draw();
void restore();
// For tests and for people who measure: what the latest frame cost.
Object.assign(window, { eventide: { timeline, index } });
