/** Runs that the workers of this machine have closed, for whoever writes their traces. Which are retained it cannot say. */
import type { RunListener, RunSummary, RunWatch } from '../../engine.js';

export class Closings implements Pick<RunWatch, 'watch'> {
  readonly #listeners = new Set<RunListener>();

  watch(listener: RunListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  closed(run: RunSummary): void {
    for (const listener of this.#listeners) listener.closed?.(run);
  }
}
