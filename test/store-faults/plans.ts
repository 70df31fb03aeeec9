/** Which calls of the store fail, and how: at random by a seed, or the one with a given number. */
import type { CallKind, Fault, FaultPlan } from './faulty-database.js';
import { FAULTS } from './faulty-database.js';

/** Numbers in [0, 1): the same ones for the same seed. */
export function randomSequence(seed: number): () => number {
  let state = (seed ^ 0x9e3779b9) >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * A share of the calls fails, in any of the ways.
 *
 * A call is what the engine asks of its store: one commit, with however many statements, or one read. A commit fails at
 * its beginning, at one of its statements or at its end, so each of those gets a part of the commit's share.
 */
export class RandomFaults implements FaultPlan {
  readonly counts = new Map<string, number>();
  #calls = 0;
  #commits = 0;
  #faults = 0;
  /** Statements of this transaction that go well before one fails. */
  #failsAfter: number | undefined;
  isOn = true;
  readonly #random: () => number;

  /** Beside the share, one commit in `endsEngineEvery` fails in a way that ends its engine: few commits may have no such luck. */
  constructor(
    private readonly percent: number,
    seed: number,
    private readonly endsEngineEvery = Number.POSITIVE_INFINITY,
  ) {
    this.#random = randomSequence(seed);
  }

  faultOf(kind: CallKind): Fault | undefined {
    if (!this.isOn) return undefined;
    switch (kind) {
      case 'begin': {
        this.#calls++;
        this.#failsAfter = undefined;
        if (++this.#commits % this.endsEngineEvery === 0) return this.#fault(kind, 'ioerr-before');
        if (!this.#hits()) return undefined;
        // A third of them at each place; most transactions have a few statements.
        const place = Math.floor(this.#random() * 3);
        if (place === 0) return this.#fault(kind);
        this.#failsAfter = place === 1 ? Math.floor(this.#random() * 4) : Number.POSITIVE_INFINITY;
        return undefined;
      }
      case 'write':
        if (this.#failsAfter === undefined || this.#failsAfter-- > 0) return undefined;
        this.#failsAfter = undefined;
        return this.#fault(kind);
      case 'commit':
        if (this.#failsAfter === undefined) return undefined;
        this.#failsAfter = undefined;
        return this.#fault(kind);
      default:
        this.#calls++;
        return this.#hits() ? this.#fault(kind) : undefined;
    }
  }

  /** What a test reads is not the engine's. */
  without<T>(look: () => T): T {
    const wasOn = this.isOn;
    this.isOn = false;
    try {
      return look();
    } finally {
      this.isOn = wasOn;
    }
  }

  #hits(): boolean {
    return this.#random() * 100 < this.percent;
  }

  #fault(kind: CallKind, fault = FAULTS[Math.floor(this.#random() * FAULTS.length)]!): Fault {
    const name = `${kind} ${fault}`;
    this.counts.set(name, (this.counts.get(name) ?? 0) + 1);
    this.#faults++;
    return fault;
  }

  get calls(): number {
    return this.#calls;
  }

  get faults(): number {
    return this.#faults;
  }
}

/** Call number `at` fails, and with `length` the ones after it too. Statements count one by one. */
export class NthCallFails implements FaultPlan {
  #calls = 0;
  isOn = true;
  /** What has failed first. */
  hit: { kind: CallKind; sql: string } | undefined;

  constructor(
    private readonly at: number,
    private readonly fault: Fault,
    private readonly length = 1,
  ) {}

  faultOf(kind: CallKind, sql: string): Fault | undefined {
    if (!this.isOn) return undefined;
    const number = ++this.#calls;
    if (number < this.at || number >= this.at + this.length) return undefined;
    this.hit ??= { kind, sql };
    return this.fault;
  }

  get calls(): number {
    return this.#calls;
  }
}
