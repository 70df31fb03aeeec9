/**
 * Messages to one workflow, sent in the order in which they came to this server. Temporal takes requests that are
 * under way together in any order.
 *
 * An update takes its place in two steps: the cluster keeps it, and later the run takes it. Updates are given to a run
 * in the order in which they are kept, so one update waits for another only for the first step; everything else waits
 * for both.
 */
export class InOrder {
  readonly #last = new Map<string, Turn>();

  /** Runs `act` when those before it under the same key have ended their turns. Its own ends with it, or earlier by its doing. */
  async with<T>(key: string, kind: 'update' | 'other', act: (turn: Turn) => Promise<T>): Promise<T> {
    const before = this.#last.get(key);
    const turn = new Turn(before);
    this.#last.set(key, turn);
    before?.await();
    await (kind === 'update' ? before?.kept : before?.over);
    try {
      return await act(turn);
    } finally {
      turn.end();
      // Until those before it are over as well, it stands for them.
      void turn.over.then(() => {
        if (this.#last.get(key) === turn) this.#last.delete(key);
      });
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
