// Colours by kind of span, for light and dark pages. Text on them is black or white, whichever contrasts more.

export const KINDS: Record<string, [number, number]> = {
  kernel: [0x2f7ed8, 0x5aa2f0],
  work: [0x2f7ed8, 0x5aa2f0],
  backend: [0x4a6fb5, 0x7d9fe0],
  communication: [0xc2410c, 0xf08a4b],
  copy: [0x0f8b8d, 0x3cc3c5],
  op: [0x5b8c3a, 0x8cc265],
  span: [0x7a5cc0, 0xa58be8],
  module: [0x8a7a2b, 0xc9b65a],
  step: [0x4b5563, 0xb0b8c4],
  runtime: [0xb0467c, 0xe07fae],
  sync: [0xb91c1c, 0xf06a6a],
  compile: [0x9a6b1f, 0xd9a853],
  wait: [0x9ca3af, 0x6b7280],
  annotation: [0x8793c9, 0x7482bd],
  sample: [0x9a8873, 0xa8957e],
  other: [0xa8adb5, 0x6b7280],
};

// What occupies a stream; waits and annotations are on its track as well, and occupy nothing.
export const WORK = new Set(["kernel", "work", "backend", "communication", "copy"]);

export interface Theme {
  dark: boolean;
  back: [number, number, number];
  text: string;
  faint: string;
  line: string;
  accent: string;
  danger: string;
  path: string;
}

export function themeOf(): Theme {
  const style = getComputedStyle(document.documentElement);
  const get = (name: string) => style.getPropertyValue(name).trim();
  const back = get("--canvas");
  const number = parseInt(back.slice(1), 16);
  return {
    dark: get("--scheme") === "dark",
    back: [(number >> 16) & 255, (number >> 8) & 255, number & 255],
    text: get("--text"),
    faint: get("--faint"),
    line: get("--line"),
    accent: get("--accent"),
    danger: get("--danger"),
    path: get("--path"),
  };
}

export function kindColour(kind: string, theme: Theme): [number, number, number] {
  const pair = KINDS[kind] ?? KINDS["other"];
  const colour = pair[theme.dark ? 1 : 0];
  return [(colour >> 16) & 255, (colour >> 8) & 255, colour & 255];
}

export const SHADES = 3; // of a kind, so that neighbours of different names differ

// A shade of a colour: the colour itself, a lighter and a darker one.
export function shadeOf(colour: [number, number, number], shade: number): [number, number, number] {
  if (shade === 0) return colour;
  const [to, share] = shade === 1 ? [255, 0.16] : [0, 0.14];
  return colour.map((c) => Math.round(c + (to - c) * share)) as [number, number, number];
}

// 256 steps from the background to a colour, as pixels of an ImageData (little endian: ABGR). Step 0 is the background;
// what is there at all is at least a fifth of the colour.
export function ramp(colour: [number, number, number], back: [number, number, number]): Uint32Array {
  const found = new Uint32Array(256);
  for (let step = 0; step < 256; step++) {
    const share = step === 0 ? 0 : 0.2 + (0.8 * step) / 255;
    const [r, g, b] = [0, 1, 2].map((i) => Math.round(back[i] + (colour[i] - back[i]) * share));
    found[step] = ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
  }
  return found;
}
