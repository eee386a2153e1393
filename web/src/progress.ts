import type { Progress } from "./model";
import type { Source } from "./source";

/** Tells each 0.4 s how much is read, as "45 %", until it is stopped. A report has read everything. */
export function pollProgress(source: Source, tell: (share: string) => void): () => void {
  if (!source.holds("progress")) return () => undefined;
  const timer = setInterval(() => {
    source.get<Progress>("progress").then(({ read, total }) => {
      if (total > 0 && read < total) tell(`${Math.floor(read / total * 100)} %`);
    }, () => undefined); // what is wrong is said by the answer that is awaited
  }, 400);
  return () => clearInterval(timer);
}
