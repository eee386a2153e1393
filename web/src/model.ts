// The answers of caret-bpf. Times are nanoseconds since the begin of the recording, durations nanoseconds, and null is
// what is not known.

export interface Dataset {
  path: string;
  host: string;
  begin: string;
  end: string | null;
  callbacks: number | null;
  session: Record<string, unknown>;
}

export interface Process { id: number; pid: number; name: string | null; host: string | null }
export interface Thread { id: number; process: number; tid: number; name: string | null }
export interface RosNode { id: number; name: string; process: number | null; standard: boolean }
export interface Topic { id: number; name: string; type: string | null }
export interface Callback {
  id: number;
  name: string;
  node: number | null;
  kind: string | null;
  topic: number | null;
  /** The name of the service of which it is, if it is of one. */
  service: string | null;
  period: number | null;
  symbol: string | null;
  standard: boolean;
}

export interface Recording {
  version: string;
  report: boolean;
  /** Only a part of the datasets is shown. */
  part: boolean;
  begin: string;
  duration: number;
  datasets: Dataset[];
  baseline: Dataset[] | null;
  scheduling: boolean;
  offCpu: boolean;
  warnings: string[];
  lost: { records: number | null; blindSpans: number | null; text: string };
  processes: Process[];
  threads: Thread[];
  nodes: RosNode[];
  topics: Topic[];
  callbacks: Callback[];
  levels: number;
}

export interface Edge {
  topic: number;
  /** Null where the node is not known. */
  from: number | null;
  to: number | null;
  transport: string[] | null;
  count: number | null;
  rate: number | null;
  min: number | null;
  mean: number | null;
  p50: number | null;
  p99: number | null;
  max: number | null;
  lost: number | null;
  open: number | null;
  unknown: number | null;
  /** The row of `communications`; null where no message was seen. */
  communication: number | null;
}
export interface Graph extends Warned { nodes: number[]; edges: Edge[]; omitted?: boolean }

/** Who may send what to whom: known before any message is read. */
export interface Connections { nodes: number[]; edges: { topic: number; from: number | null; to: number | null }[]; omitted?: boolean }

export type Value = string | number | boolean | null;
/** What every answer may have: what it lacks. */
export interface Warned { warnings?: string[] }
export interface Rows extends Warned { columns: string[]; rows: Value[][]; ids?: (number | null)[]; topics?: (number | null)[] }
export interface CallbackRows extends Rows { parts: Rows | null }

export interface Loss {
  begin: number; end: number | null; reason: string; count: number | null; process: number | null; text: string;
  /** Whether it is of times off the CPU alone: callbacks and messages are not missing. */
  offCpu: boolean;
}

export interface Losses extends Warned { rows: Loss[]; omitted?: number }

export interface Path {
  id: number;
  text: string;
  nodes: number[];
  topics: number[];
  flows?: { from: number; to: number; why: string }[];
}
export interface Paths extends Warned { paths: Path[]; complete: boolean }

export interface PathAnswer extends Warned {
  hops: Rows;
  parts: Rows | null;
  series: { t: number[]; hops: (number | null)[][]; total: (number | null)[] }[] | { t: number[]; hops: (number | null)[][]; total: (number | null)[] };
  instances: number;
  messages?: number;
  ways?: number;
  shown: number;
}

export type Fate = "received" | "lost" | "open" | "unknown" | "unused";
export interface Flow extends Warned {
  columns: string[];
  /** Ways of messages: one that forks has several. */
  messages: { times: number[]; fate: Fate }[];
  messagesTotal: number;
  /** How many ways there are, and how many of them are given. */
  ways?: number;
  shown: number;
  /** How many ways have each fate, of all. */
  fates?: Partial<Record<Fate, number>>;
  /** How many of those that did not come to the end are given. */
  droppedShown?: number;
}

export type Subject = "callback" | "communication" | "topic";
export type Measure = "latency" | "period" | "frequency";
export interface Series extends Warned {
  exact: boolean;
  bucket?: number;
  t: number[];
  v?: (number | null)[];
  count?: number[];
  min?: (number | null)[];
  p50?: (number | null)[];
  max?: (number | null)[];
  /** When instances began that have no value: the first thousand of them. */
  missing?: number[];
  missingTotal?: number;
  histogram: { edges: number[]; counts: number[] } | null;
  statistics: Record<"count" | "min" | "mean" | "p50" | "p90" | "p99" | "max", number | null>;
}

export interface ExactTile extends Warned {
  exact: true;
  /** Whether there are publishes or messages beyond those given. */
  more?: boolean;
  /** Whether messages may be missing that took longer than was looked back for. */
  longMissing?: boolean;
  callbacks: { thread: number[]; callback: number[]; begin: (number | null)[]; end: (number | null)[]; depth: number[]; status: (string | null)[]; until?: (number | null)[] };
  publishes: { thread: number[]; topic: number[]; t: number[] };
  messages: { topic: number[]; fromThread: number[]; fromTime: number[]; toThread: number[]; toTime: number[] };
}
export interface CoarseTile extends Warned {
  exact: false;
  /** How many threads it says nothing of. */
  threadsOmitted?: number;
  bins: number;
  threads: { thread: number; busy: number[]; count: number[]; longest: ([number, number, number | null] | null)[] }[];
}
export type Tile = ExactTile | CoarseTile;
/** Times off the CPU. The other is who got the CPU of one that was preempted, or else who ran where it was woken. */
export type OffCpuKind = "preempted" | "blocked" | "woken";
export interface OffCpu { thread: number[]; kind: OffCpuKind[]; from: number[]; to: number[]; other: (string | null)[]; more?: boolean }

export interface Difference {
  entities: Record<string, Value>[];
  latencies: Record<string, Value>[];
  noise: Record<string, Value>;
  warnings: string[];
  /** Of each latency the callback, or the row of `communications`, that it is of here; null for another, or none. */
  callbacks: (number | null)[];
  communications: (number | null)[];
}

/** The answers of a command to both sides: of each row the side, and the number of what it is of. */
export interface SidedRows extends Rows { sides: ("a" | "b")[]; things: number[] }

export interface Progress { read: number; total: number }
