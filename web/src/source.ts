// Where answers come from: the server of `caret-bpf view`, or the file that `caret-bpf report` has written.

import { Lru } from "./lru";

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
      response = await fetch(`api/${key}`, signal ? { signal } : {});
    } catch (error) {
      if (signal?.aborted) throw error;
      throw new AnswerError("caret-bpf does not answer: start `caret-bpf view` again, and open the address that it prints");
    }
    const text = await response.text();
    if (!response.ok) throw new AnswerError(sentence(text) ?? `caret-bpf answered ${response.status} ${response.statusText}`);
    return JSON.parse(text) as T;
  }
}

function sentence(text: string): string | undefined {
  try {
    const { error } = JSON.parse(text) as { error?: unknown };
    return typeof error === "string" ? error : undefined;
  } catch {
    return text.trim().slice(0, 500) || undefined;
  }
}

export class ReportSource implements Source {
  constructor(private readonly answers: Record<string, unknown>) {}

  holds(key: string): boolean {
    return Object.hasOwn(this.answers, key);
  }

  async get<T>(key: string): Promise<T> {
    if (!this.holds(key)) throw new AnswerError("This report does not hold that answer. `caret-bpf view` of the recording does.");
    return this.answers[key] as T;
  }
}

/** Reads the answers that a report's file has: base64 of gzip of JSON. */
export async function readReport(text: string): Promise<ReportSource> {
  const bytes = Uint8Array.from(atob(text.trim()), (character) => character.charCodeAt(0));
  const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const { format, answers } = (await new Response(unpacked).json()) as { format: number; answers: Record<string, unknown> };
  if (format !== 1) throw new AnswerError(`This report has format ${format}, and this page reads format 1.`);
  return new ReportSource(answers);
}

/** Keeps the answers that were used last, and asks once for what several want at once. */
export class CachedSource implements Source {
  private readonly answers: Lru<Promise<unknown>>;

  constructor(private readonly source: Source, bound: number) {
    this.answers = new Lru(bound);
  }

  holds(key: string): boolean {
    return this.source.holds(key);
  }

  get<T>(key: string): Promise<T> {
    let answer = this.answers.get(key);
    if (!answer) {
      answer = this.source.get(key);
      this.answers.set(key, answer);
      answer.catch(() => this.answers.delete(key)); // so that it can be asked again
    }
    return answer as Promise<T>;
  }
}
