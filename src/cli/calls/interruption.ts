/** A signal to end while something goes on that does not end with this program: it is told, in place of dying in the middle. */
import { exitCodeOf, onSignal } from '../shutdown.js';
import { CommandError } from './failure.js';

export class Interruption {
  readonly #controller = new AbortController();
  #by: NodeJS.Signals | undefined;
  /** Signals end the process again, as they do by themselves. */
  readonly end: () => void;

  constructor() {
    this.end = onSignal((signal) => {
      this.#by = signal;
      this.#controller.abort();
    });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** What the command ends with if it was interrupted, with `told`; else the error. */
  toldAs(told: string, error: unknown): unknown {
    return this.#by === undefined ? error : new CommandError(exitCodeOf(this.#by), `interrupted${told}`);
  }
}

/** Does the work, which ends when it is interrupted. @throws CommandError with `told` then */
export async function interruptible<T>(
  told: string | (() => string),
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const interruption = new Interruption();
  try {
    return await work(interruption.signal);
  } catch (error) {
    throw interruption.toldAs(typeof told === 'string' ? told : told(), error);
  } finally {
    interruption.end();
  }
}
