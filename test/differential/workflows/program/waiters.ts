import { condition } from 'perdure';

interface Waiter {
  site: number;
  isTold: boolean;
}

/** Those that wait for `go`. Each `go` lets a single one of them go on, so that no two start off together. */
export class Waiters {
  readonly received = { heard: 0, unheard: 0 };
  #waiting: Waiter[] = [];

  go(): void {
    const [first] = this.#waiting.filter((each) => !each.isTold).sort((one, other) => one.site - other.site);
    if (first) first.isTold = true;
    this.received[first ? 'heard' : 'unheard']++;
  }

  async untilGo(site: number, timeoutMs?: number, isOver = () => false): Promise<unknown> {
    const waiter = { site, isTold: false };
    this.#waiting.push(waiter);
    try {
      const told = () => waiter.isTold || isOver();
      return await (timeoutMs === undefined ? condition(told) : condition(told, timeoutMs));
    } finally {
      this.#waiting = this.#waiting.filter((other) => other !== waiter);
    }
  }
}
