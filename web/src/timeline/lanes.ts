// Where threads are drawn: one lane each, in groups of processes.

import type { Names } from "../names";

export interface Lane { thread: number; top: number; height: number; name: string }
export interface Group { process: number; top: number; height: number; name: string }
export interface Lanes { lanes: Lane[]; groups: Group[]; byThread: Map<number, Lane>; height: number }

export const laneHeight = 30;
export const groupHeight = 20;
/** The callbacks within a lane, above what the scheduler did. */
export const barTop = 3;
export const barHeight = 20;

export function layOut(names: Names): Lanes {
  const { processes, threads } = names.recording;
  const lanes: Lane[] = [];
  const groups: Group[] = [];
  let top = 0;
  for (const process of processes) {
    const own = threads.filter((thread) => thread.process === process.id);
    if (own.length === 0) continue;
    const begin = top;
    top += groupHeight;
    for (const thread of own) {
      lanes.push({ thread: thread.id, top, height: laneHeight, name: names.thread(thread.id) });
      top += laneHeight;
    }
    groups.push({ process: process.id, top: begin, height: top - begin, name: names.process(process.id) });
  }
  return { lanes, groups, byThread: new Map(lanes.map((lane) => [lane.thread, lane])), height: top };
}
