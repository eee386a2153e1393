// What is said of times off the CPU: how long, and who had to do with them.

import { duration } from "../format";
import type { OffCpu, OffCpuKind } from "../model";
import { printable } from "../printable";
import type { Execution } from "./details";

/** What kinds are called, in the order in which they are told. */
export const kinds: Record<OffCpuKind, string> = { preempted: "preempted", blocked: "blocked", woken: "woken, no CPU yet" };

const part: Record<OffCpuKind, string> = { preempted: "had the CPU", blocked: "ran where it was woken", woken: "ran where it was woken" };

/** One time off the CPU in words. */
export function says({ kind, from, to, other }: OffCpu, i: number): string {
  const whom = other[i];
  return `${kinds[kind[i]!]} for ${duration(to[i]! - from[i]!)}: ${whom === null || whom === undefined ? "by whom is not known" : `${printable(whom)} ${part[kind[i]!]}`}`;
}

/** How long a thread was off the CPU within an execution: by kind, and of that how long due to whom, the longest first. */
export interface Sum { kind: OffCpuKind; total: number; others: { other: string | null; total: number }[] }

/** Null where it is not known here. */
export function within(execution: Execution, offCpu: OffCpu[] | null): Sum[] | null {
  if (execution.end === null || execution.status === "start_missing" || !offCpu) return null;
  const sums = new Map<OffCpuKind, Map<string | null, number>>();
  const seen = new Set<string>();
  for (const times of offCpu) {
    times.thread.forEach((thread, i) => {
      const from = Math.max(times.from[i]!, execution.begin);
      const to = Math.min(times.to[i]!, execution.end!);
      const name = `${times.kind[i]} ${times.from[i]}`; // tiles beside each other have some in common
      if (thread !== execution.thread || to <= from || seen.has(name)) return;
      seen.add(name);
      const others = sums.get(times.kind[i]!) ?? new Map<string | null, number>();
      sums.set(times.kind[i]!, others.set(times.other[i] ?? null, (others.get(times.other[i] ?? null) ?? 0) + to - from));
    });
  }
  return (Object.keys(kinds) as OffCpuKind[]).map((kind) => {
    const others = [...(sums.get(kind) ?? [])].map(([other, total]) => ({ other, total })).sort((a, b) => b.total - a.total);
    return { kind, total: others.reduce((all, { total }) => all + total, 0), others };
  });
}

/** Who had to do with a sum, at most so many of them. */
export function byWhom({ kind, others }: Sum, most = 4): string {
  const told = others.slice(0, most).map(({ other, total }) => `${duration(total)} ${other === null ? "by unknown" : `${printable(other)} ${part[kind]}`}`);
  return [...told, ...(others.length > most ? [`${others.length - most} more`] : [])].join(", ");
}
