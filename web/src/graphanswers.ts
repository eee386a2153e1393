// The graph comes twice: at once who may send to whom, and then, when all messages were read, how often and how long.

import type { Connections, Edge, Graph } from "./model";
import type { Source } from "./source";

const unmeasured: Omit<Edge, "topic" | "from" | "to"> = {
  transport: null, count: null, rate: null, min: null, mean: null, p50: null, p99: null, max: null, lost: null, open: null, unknown: null, communication: null,
};

const tooMany = "There are more connections of nodes than fit into one answer: not all of them are here.";

/** Shows what is known so far, each time that more is known: `measured` when nothing more comes. */
export async function graphAnswers(source: Source, show: (graph: Graph, measured: boolean) => void): Promise<void> {
  const whole = source.get<Graph>("graph");
  let done = false;
  const first = source.holds("connections")
    ? source.get<Connections>("connections").then(({ nodes, edges }) => {
      if (!done) show({ nodes, edges: edges.map((edge) => ({ ...unmeasured, ...edge })) }, false);
    }, () => undefined) // the whole graph says what is wrong
    : Promise.resolve();
  const graph = await whole.finally(() => { done = true; });
  await first;
  show(graph.omitted ? { ...graph, warnings: [...(graph.warnings ?? []), tooMany] } : graph, true);
}
