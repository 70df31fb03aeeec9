/** What the code waits for by `condition()`: predicates that are looked at again whenever something has happened. */
import type { Cancel, Settle } from '../../../sdk/runtime.js';

interface Condition {
  predicate: () => boolean;
  settle: Settle<void>;
}

export class Conditions {
  #waiting: Condition[] = [];

  /** `look` calls a predicate in such a way that it can only read. */
  constructor(private readonly look: (predicate: () => boolean) => boolean) {}

  whenTrue(predicate: () => boolean, settle: Settle<void>): Cancel {
    if (this.look(predicate)) {
      settle.resolve();
      return () => {};
    }
    const condition = { predicate, settle };
    this.#waiting.push(condition);
    return (cancellation) => {
      const at = this.#waiting.indexOf(condition);
      if (at < 0) return;
      this.#waiting = this.#waiting.filter((other) => other !== condition);
      settle.reject(cancellation);
    };
  }

  /** Whether any condition has ended, by holding or by throwing. */
  resolve(): boolean {
    if (this.#waiting.length === 0) return false;
    const ended: (() => void)[] = [];
    this.#waiting = this.#waiting.filter(({ predicate, settle }) => {
      try {
        if (!this.look(predicate)) return true;
        ended.push(() => settle.resolve());
      } catch (error) {
        ended.push(() => settle.reject(error));
      }
      return false;
    });
    for (const end of ended) end();
    return ended.length > 0;
  }
}
