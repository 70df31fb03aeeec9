/**
 * Messages to one workflow, sent in the order in which they came to this server. Temporal takes requests that are
 * under way together in any order.
 *
 * An update takes its place in two steps: the cluster keeps it, and later the run takes it. Updates are given to a run
 * in the order in which they are kept, so one update waits for another only for the first step; everything else waits
 * for both.
 *
 * A cluster that takes nothing holds up each of them for seconds, and all of them one after the other. So nobody waits for
 * those before him for longer than this: nothing of his was sent then, and he can say it elsewhere.
 */
import { unavailable } from './errors.js';

/** As long as a caller waits for the answer to a message, and twice what the cluster has for one call. */
const WAIT_MS = 30_000;

export class InOrder {
  readonly #last = new Map<string, Turn>();

  constructor(private readonly waitMs = WAIT_MS) {}

  /**
   * Runs `act` when those before it under the same key have ended their turns. Its own ends with it, or earlier by its doing.
   * @throws EngineUnavailableError when those before it take too long; then nothing was done
   */
  async with<T>(key: string, kind: 'update' | 'other', act: (turn: Turn) => Promise<T>): Promise<T> {
    const before = this.#last.get(key);
    const turn = new Turn(before);
    this.#last.set(key, turn);
    before?.await();
    try {
      if (before) await this.#inTime(kind === 'update' ? before.kept : before.over);
      return await act(turn);
    } finally {
      turn.end();
      // Until those before it are over as well, it stands for them.
      void turn.over.then(() => {
        if (this.#last.get(key) === turn) this.#last.delete(key);
      });
    }
  }

  async #inTime(ready: Promise<void>): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        const message = `the Temporal cluster has not taken what came before for this workflow within ${this.waitMs} ms, so this was not sent`;
        reject(unavailable(message, 1));
      }, this.waitMs);
    });
    try {
      await Promise.race([ready, late]);
    } finally {
      clearTimeout(timer);
    }
  }
}

export class Turn {
  /** The cluster has it. */
  readonly kept: Promise<void>;
  /** Whatever comes next comes after it, and after those before it. */
  readonly over: Promise<void>;
  /** Somebody waits for this turn to end. */
  readonly awaited: Promise<void>;
  declare readonly keep: () => void;
  declare readonly end: () => void;
  declare readonly await: () => void;

  constructor(before: Turn | undefined) {
    this.kept = new Promise((resolve) => Object.assign(this, { keep: resolve }));
    const ended = new Promise<void>((resolve) => Object.assign(this, { end: resolve }));
    this.over = before ? before.over.then(() => ended) : ended;
    void ended.then(this.keep);
    this.awaited = new Promise((resolve) => Object.assign(this, { await: resolve }));
  }
}
