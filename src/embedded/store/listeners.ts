/** Those who want to know what has happened to runs; told after the commit that holds it. */
import type { RunListener, RunSummary } from '../../engine.js';

export class Listeners {
  readonly #listeners = new Set<RunListener>();

  add(listener: RunListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  get any(): boolean {
    return this.#listeners.size > 0;
  }

  closed(run: RunSummary): void {
    for (const listener of this.#listeners) listener.closed?.(run);
  }

  removed(runId: string): void {
    for (const listener of this.#listeners) listener.removed?.(runId);
  }
}
