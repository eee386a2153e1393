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
