// The keys of answers. One thing has one key: parameters stand in a fixed order, and none is left out.

import type { Measure, Subject } from "./model";

function key(name: string, parameters: [string, string | number][]): string {
  return `${name}?${parameters.map(([parameter, value]) => `${parameter}=${encodeURIComponent(value)}`).join("&")}`;
}

export const tileKey = (level: number, index: number) => key("tile", [["level", level], ["index", index]]);
export const offCpuKey = (level: number, index: number) => key("offcpu", [["level", level], ["index", index]]);
export const pathKey = (path: string) => key("path", [["path", path]]);
export const comparedPartsKey = (path: string) => key("comparedparts", [["path", path]]);
export const pathsKey = (from: string, to: string) => key("paths", [["from", from], ["to", to]]);
export const flowKey = (path: string, from: number, to: number) => key("flow", [["path", path], ["from", from], ["to", to]]);
export const seriesKey = (subject: Subject, id: number, measure: Measure, from: number, to: number) =>
  key("series", [["subject", subject], ["id", id], ["measure", measure], ["from", from], ["to", to]]);
