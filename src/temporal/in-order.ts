/**
 * Messages to one workflow, sent in the order in which they came to this server. Temporal takes requests that are
 * under way together in any order.
 */
export class InOrder {
  readonly #last = new Map<string, Turn>();

  /** Runs `act` when those before it under the same key have ended their turns. Its own ends with it, or earlier by its doing. */
  async with<T>(key: string, act: (turn: Turn) => Promise<T>): Promise<T> {
    const before = this.#last.get(key);
    const turn = new Turn();
    this.#last.set(key, turn);
    before?.await();
    await before?.over;
    try {
      return await act(turn);
    } finally {
      turn.end();
      if (this.#last.get(key) === turn) this.#last.delete(key);
    }
  }
}

export class Turn {
  readonly over: Promise<void>;
  /** Somebody waits for this turn to end. */
  readonly awaited: Promise<void>;
  declare readonly end: () => void;
  declare readonly await: () => void;

  constructor() {
    this.over = new Promise((resolve) => Object.assign(this, { end: resolve }));
    this.awaited = new Promise((resolve) => Object.assign(this, { await: resolve }));
  }
}
