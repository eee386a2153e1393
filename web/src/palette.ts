// Colors that people with any color vision tell apart (Okabe and Ito), without the yellow, which is too light for
// lines, and without the vermilion, which is for what was lost. The names decide, so a node has one color in every
// recording of the same system.

const base = [[0x00, 0x72, 0xb2], [0xe6, 0x9f, 0x00], [0x00, 0x9e, 0x73], [0xcc, 0x79, 0xa7], [0x56, 0xb4, 0xe9]] as const;
/** What becomes of a color when the palette repeats: it stays, is mixed with black, or with white. */
const shades = [(part: number) => part, (part: number) => part * 0.74, (part: number) => 255 - (255 - part) * 0.5];

export interface Color { fill: string; text: string }

/** The color of the i-th of several things. They repeat in other shades. */
export function paletteColor(i: number): Color {
  const shade = shades[Math.floor(i / base.length) % shades.length]!;
  const [r, g, b] = base[i % base.length]!.map((part) => Math.round(shade(part))) as [number, number, number];
  const linear = [r, g, b].map((part) => (part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4));
  const luminance = 0.2126 * linear[0]! + 0.7152 * linear[1]! + 0.0722 * linear[2]!;
  return { fill: `rgb(${r},${g},${b})`, text: luminance > 0.179 ? "#000" : "#fff" };
}

/** Colors by name, in the order of the names. */
export function colorsByName(names: string[]): Map<string, Color> {
  return new Map([...new Set(names)].sort().map((name, i) => [name, paletteColor(i)]));
}

/** What no known callback has. */
export const unknownColor: Color = { fill: "rgb(128,128,128)", text: "#000" };
