// What all views share.

import type { Recording } from "./model";
import type { Names } from "./names";
import type { Source } from "./source";

export interface App {
  source: Source;
  recording: Recording;
  names: Names;
}

/**
 * A view fills its element. It is ready when the promise is kept, and lets go of everything when the signal ends it.
 */
export type View = (app: App, element: HTMLElement, parameters: URLSearchParams, signal: AbortSignal) => Promise<void>;
