// Where threads are drawn: one lane each, in groups of processes.

import type { Thread } from "../model";
import type { Names } from "../names";

export interface Lane { thread: number; top: number; height: number; name: string }
export interface Group { process: number; top: number; height: number; name: string }
export interface Lanes {
  lanes: Lane[];
  groups: Group[];
  byThread: Map<number, Lane>;
  height: number;
  /** The height of callbacks: below them is room for what the scheduler did. */
  bar: number;
}

export const groupHeight = 20;
/** Pixels between the upper border of a lane and its callbacks. */
export const barTop = 3;
const [least, most] = [30, 64];

/** Lanes for so many pixels: higher ones where there are few. */
export function layOut(names: Names, room: number): Lanes {
  const { processes, threads } = names.recording;
  const own: Thread[][] = processes.map(() => []);
  for (const thread of threads) own[thread.process]?.push(thread);
  const used = own.filter((list) => list.length > 0).length;
  const height = Math.floor(Math.min(most, Math.max(least, (room - used * groupHeight) / Math.max(1, threads.length))));
  const lanes: Lane[] = [];
  const groups: Group[] = [];
  let top = 0;
  processes.forEach((process, i) => {
    if (own[i]!.length === 0) return;
    const begin = top;
    top += groupHeight;
    for (const thread of own[i]!) {
      lanes.push({ thread: thread.id, top, height, name: names.thread(thread.id) });
      top += height;
    }
    groups.push({ process: process.id, top: begin, height: top - begin, name: names.process(process.id) });
  });
  return { lanes, groups, byThread: new Map(lanes.map((lane) => [lane.thread, lane])), height: top, bar: height - 10 };
}
