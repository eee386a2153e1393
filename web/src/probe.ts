// What tests and measurements read: window.caretBpf.

import type { Recording } from "./model";

export interface Probe {
  /** Milliseconds from one animation frame to the next while the timeline draws, the last 600. */
  frames: number[];
  /** Milliseconds that drawing each of them took. */
  draws: number[];
  /** How many tiles of the timeline are in memory. */
  tilesHeld: number;
  /** Whether the view shows everything that it has asked for. */
  ready: boolean;
  /** Whether every answer that the view wants has come and is drawn. */
  settled: boolean;
  /** The answer `recording`. */
  recording: Recording | null;
  /** Milliseconds from the begin of loading to the first picture of the recording. */
  firstPicture: number | null;
  /** What the last frame of the timeline shows. */
  timeline: { from: number; to: number; drawn: { callbacks: number; publishes: number; messages: number; exact: boolean } } | null;
}

declare global {
  interface Window { caretBpf: Probe }
}

export const probe: Probe = { frames: [], draws: [], tilesHeld: 0, ready: false, settled: false, recording: null, firstPicture: null, timeline: null };

/** Keeps the last 600 of several numbers. */
export function note(list: number[], value: number): void {
  list.push(value);
  if (list.length > 600) list.splice(0, list.length - 600);
}
