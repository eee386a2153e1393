// Where answers come from: the server of `caret-bpf view`, or the file that `caret-bpf report` has written.

import { Lru } from "./lru";
import { authorization } from "./token";

export interface Source {
  /** Whether an answer may be had: a report has only some of them. */
  holds(key: string): boolean;
  /** The answer. It may be kept for later, so callers do not change it. */
  get<T>(key: string, signal?: AbortSignal): Promise<T>;
}

/** Says what went wrong in words for who reads the page. */
export class AnswerError extends Error {}

export class LiveSource implements Source {
  holds(): boolean {
    return true;
  }

  async get<T>(key: string, signal?: AbortSignal): Promise<T> {
    let response: Response;
    try {
      response = await fetch(`api/${key}`, { headers: authorization(), ...(signal ? { signal } : {}) });
    } catch (error) {
      if (signal?.aborted) throw error;
      throw new AnswerError("caret-bpf does not answer: if it has ended, start `caret-bpf view` again, and open the address that it prints");
    }
    if (response.status === 401 || response.status === 403) throw new AnswerError(`caret-bpf does not answer this tab: ${howToOpen}`);
    const text = await response.text();
    if (!response.ok) throw new AnswerError(sentence(text) ?? `caret-bpf answered ${response.status} ${response.statusText}`);
    return JSON.parse(text) as T;
  }
}

const howToOpen = "open the whole address that `caret-bpf view` has printed, which ends in #token=… Each tab needs it once.";

function sentence(text: string): string | undefined {
  try {
    const { error } = JSON.parse(text) as { error?: unknown };
    return typeof error === "string" ? error : undefined;
  } catch {
    return text.trim().slice(0, 500) || undefined;
  }
}

type Answers = Record<string, unknown>;

/** Unpacked parts that are kept. */
const partsBound = 16;

/**
 * The answers of a report's file. They are in parts, each base64 of gzip of JSON, which are unpacked when an answer of
 * them is wanted. The contents are JSON: they tell the keys of the answers in each part.
 */
export class ReportSource implements Source {
  private readonly partOf = new Map<string, number>();
  private readonly unpacked = new Lru<Promise<Answers>>(partsBound);

  constructor(contents: string, private readonly packed: (part: number) => string) {
    const all = parsed<{ format: number; parts: string[][] } | null>(contents);
    if (!all) throw damaged();
    const { format, parts } = all;
    if (format !== 2) throw new AnswerError(`This report has format ${format}, and this page reads format 2.`);
    if (!Array.isArray(parts)) throw damaged();
    parts.forEach((keys, part) => keys.forEach((key) => this.partOf.set(key, part)));
  }

  holds(key: string): boolean {
    return this.partOf.has(key);
  }

  async get<T>(key: string): Promise<T> {
    const part = this.partOf.get(key);
    if (part === undefined) throw new AnswerError("This report does not hold that answer. `caret-bpf view` of the recording does.");
    let unpacking = this.unpacked.get(String(part));
    if (!unpacking) {
      unpacking = unpack(this.packed(part));
      this.unpacked.set(String(part), unpacking);
    }
    const answers = await unpacking;
    if (!Object.hasOwn(answers, key)) throw damaged();
    return answers[key] as T;
  }
}

function damaged(): AnswerError {
  return new AnswerError("This report is damaged: a part of it cannot be read. Write it anew with `caret-bpf report`.");
}

function parsed<T>(json: string): T {
  try {
    return JSON.parse(json) as T;
  } catch {
    throw damaged();
  }
}

async function unpack(text: string): Promise<Answers> {
  if (typeof DecompressionStream === "undefined") throw new AnswerError("This browser is too old for reports: it has no DecompressionStream, which browsers have since 2023.");
  let json: string;
  try {
    const binary = atob(text);
    const bytes = new Uint8Array(binary.length);
    for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
    json = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  } catch {
    throw damaged();
  }
  return parsed<Answers>(json);
}

interface Kept { answer: Promise<unknown>; waiting: number; done: boolean; abort: AbortController }

/**
 * Keeps the answers that were used last, and asks once for what several want at once. A question that nobody waits for
 * any more is given up, so that it does not keep others waiting.
 */
export class CachedSource implements Source {
  private readonly answers: Lru<Kept>;

  constructor(private readonly source: Source, bound: number) {
    this.answers = new Lru(bound);
  }

  holds(key: string): boolean {
    return this.source.holds(key);
  }

  get<T>(key: string, signal?: AbortSignal): Promise<T> {
    let kept = this.answers.get(key);
    if (!kept) {
      kept = this.ask(key);
      this.answers.set(key, kept);
    }
    return signal && !kept.done ? this.wait<T>(key, kept, signal) : (kept.answer as Promise<T>);
  }

  private ask(key: string): Kept {
    const abort = new AbortController();
    const kept: Kept = { answer: this.source.get(key, abort.signal), waiting: 0, done: false, abort };
    kept.answer.then(() => { kept.done = true; }, () => this.forget(key, kept)); // so that it can be asked again
    return kept;
  }

  private wait<T>(key: string, kept: Kept, signal: AbortSignal): Promise<T> {
    kept.waiting++;
    return new Promise<T>((resolve, reject) => {
      const leave = () => {
        reject(signal.reason);
        if (--kept.waiting > 0 || kept.done) return;
        this.forget(key, kept);
        kept.abort.abort();
      };
      if (signal.aborted) return leave();
      signal.addEventListener("abort", leave, { once: true });
      (kept.answer as Promise<T>).then(resolve, reject).finally(() => signal.removeEventListener("abort", leave));
    });
  }

  private forget(key: string, kept: Kept): void {
    if (this.answers.peek(key) === kept) this.answers.delete(key);
  }
}

/** What a view asks ends with the view. */
export class SourceUntil implements Source {
  constructor(private readonly source: Source, private readonly until: AbortSignal) {}

  holds(key: string): boolean {
    return this.source.holds(key);
  }

  get<T>(key: string, signal?: AbortSignal): Promise<T> {
    return this.source.get(key, signal ?? this.until);
  }
}
