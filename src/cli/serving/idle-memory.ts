/**
 * A server at rest gives back the memory that a load has left behind. Node collects garbage when it needs room, and who
 * rests needs none: after a burst of starts it would keep a hundred megabytes of garbage until the next burst.
 *
 * 1. Only at rest, and not in the pauses of a load: a full collection stops everything for as long as it takes to mark what
 *    is alive, and the calls after it are slower for a while, since code and room have to warm up again.
 * 2. One collection is followed by others: what one has emptied is given back to the system by those after it, and the
 *    room for new objects when little was made in the five seconds before, as collections measure it.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const LOOK_EVERY_MS = 3_000;
/** The share of the time in which the process had something to do. */
const AT_REST = 0.05;
const REST_MS = 30_000;
/** Less than this is what the next calls take again. */
const WORTH_MB = 16;
const COLLECTIONS = 4;
/** Between one row of collections and the next: calls that trickle in are no reason to stop for them again and again. */
const APART_MS = 60_000;

export interface ProcessMemory {
  /** The share of the time since the last call in which the process was busy. */
  utilization(): number;
  heapMegabytes(): number;
  collect(): void;
  now(): number;
}

export class IdleMemory {
  #restingMegabytes: number;
  #restSince: number | undefined;
  #lastAt = Number.NEGATIVE_INFINITY;
  /** Collections that are still to come. */
  #left = 0;

  constructor(private readonly memory: ProcessMemory) {
    this.#restingMegabytes = memory.heapMegabytes();
  }

  look(): void {
    const now = this.memory.now();
    if (this.memory.utilization() >= AT_REST) {
      this.#restSince = undefined;
      this.#left = 0;
      return;
    }
    this.#restSince ??= now;
    if (this.#left === 0 && this.#isDue(now - this.#restSince, now - this.#lastAt)) this.#left = COLLECTIONS;
    if (this.#left === 0) return;
    this.#left--;
    this.memory.collect();
    this.#lastAt = now;
    this.#restingMegabytes = this.memory.heapMegabytes();
  }

  #isDue(restedMs: number, sinceLastMs: number): boolean {
    const grown = this.memory.heapMegabytes() - this.#restingMegabytes;
    return grown >= WORTH_MB && restedMs >= REST_MS && sinceLastMs >= APART_MS;
  }
}

/** Of this process, from now on. */
export function giveBackIdleMemory(): { stop(): void } {
  const collect = collector();
  if (!collect) return { stop() {} };
  let last = performance.eventLoopUtilization();
  const memory = new IdleMemory({
    utilization() {
      const now = performance.eventLoopUtilization();
      const { utilization } = performance.eventLoopUtilization(now, last);
      last = now;
      return utilization;
    },
    heapMegabytes: () => process.memoryUsage().heapTotal / 2 ** 20,
    collect,
    now: () => performance.now(),
  });
  const timer = setInterval(() => memory.look(), LOOK_EVERY_MS).unref();
  return { stop: () => clearInterval(timer) };
}

/** Node shows its collector to programs that are started with a flag; a context that is made while it is set has it too. */
export function collector(): (() => void) | undefined {
  setFlagsFromString('--expose-gc');
  try {
    const collect: unknown = runInNewContext('globalThis.gc');
    return typeof collect === 'function' ? () => void collect() : undefined;
  } finally {
    setFlagsFromString('--no-expose-gc');
  }
}
