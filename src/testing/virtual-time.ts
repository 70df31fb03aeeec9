/**
 * Time in a test: it stands still until somebody moves it.
 *
 * 1. What is due at this instant happens by itself, as soon as Node comes to it.
 * 2. What is due later happens when time is moved there, in the order of its instants.
 * 3. What only looks after things every so often (workers, closed runs) never makes time move. It happens once, however
 *    often it would have been due meanwhile.
 */
import { setImmediate } from 'node:timers';
import type { Clock, Scheduler } from '../core/clock.js';
import { Agenda, type Owner } from './agenda.js';

export class VirtualTime implements Clock {
  readonly isNeverSet = true;
  #ms = 0;
  #underWay = 0;
  readonly #due = new Agenda();
  readonly #background = new Agenda();

  constructor(private readonly startedAt: number) {}

  now(): number {
    return this.startedAt + this.#ms;
  }

  monotonicMs(): number {
    return this.#ms;
  }

  /** Whether nothing that is due waits for Node to come to it. */
  get isIdle(): boolean {
    return this.#underWay === 0;
  }

  /** When something happens next; undefined when nothing ever will by itself. */
  get nextAt(): number | undefined {
    return this.#due.nextAt;
  }

  moveTo(ms: number): void {
    if (ms > this.#ms) this.#ms = ms;
    for (let entry = this.#due.take(this.#ms); entry; entry = this.#due.take(this.#ms)) entry.action();
    // What it schedules anew is due later, so each happens once.
    for (let entry = this.#background.take(this.#ms); entry; entry = this.#background.take(this.#ms)) {
      entry.action();
    }
  }

  soon(owner: Owner, action: () => void): void {
    this.#underWay++;
    setImmediate(() => {
      this.#underWay--;
      if (owner.isAlive) action();
    });
  }

  schedulerOf(owner: Owner): Scheduler {
    return {
      monotonicMs: () => this.#ms,
      after: (ms, action, isBackground = false) => {
        const at = this.#ms + Math.max(0, Math.ceil(ms));
        if (at > this.#ms) return (isBackground ? this.#background : this.#due).add(at, owner, action);
        let isWanted = true;
        this.soon(owner, () => {
          if (isWanted) action();
        });
        return {
          cancel: () => {
            isWanted = false;
          },
        };
      },
      soon: (action) => this.soon(owner, action),
    };
  }
}
