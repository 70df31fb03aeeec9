/**
 * What a paused run does not get to see yet: the turns that come meanwhile are taken and deliver nothing, and with the
 * one that ends the pause everything is delivered that has come, as if it had come with that one.
 *
 * 1. Whether a turn delivers follows from all that it brings and from the turns before, never from the order within it:
 *    not every engine tells a turn in which order a message and an outcome came.
 * 2. The code never sees the messages that pause and resume.
 */
import type { EventOf, HistoryEvent } from '../../../core/history/event.js';
import { isPauseSignal, type Paused, pausedAfter } from '../../../core/run/pause.js';

/** What is held back of a turn. */
interface Delivery {
  incoming: readonly HistoryEvent[];
  reseed: string | undefined;
}

export class Pausing {
  #paused: Paused | undefined;
  #isStopping = false;
  #held: HistoryEvent[] = [];
  #reseed: string | undefined;

  get paused(): Paused | undefined {
    return this.#paused;
  }

  /** The turn as it is to be delivered; undefined when nothing of it is. */
  deliverable<T extends Delivery>(turn: T): T | undefined {
    const incoming = this.#read(turn.incoming);
    if (!this.#paused && this.#held.length === 0 && this.#reseed === undefined) {
      return incoming.length === turn.incoming.length ? turn : { ...turn, incoming };
    }
    this.#held.push(...incoming);
    // The part of the history that a reset has kept may end within a pause.
    this.#reseed = turn.reseed ?? this.#reseed;
    if (this.#paused) return undefined;
    const whole = { ...turn, incoming: this.#held, reseed: this.#reseed };
    this.#held = [];
    this.#reseed = undefined;
    return whole;
  }

  /** What is left for the code. */
  #read(incoming: readonly HistoryEvent[]): readonly HistoryEvent[] {
    let isAny = false;
    for (const event of incoming) {
      if (event.type === 'WORKFLOW_EXECUTION_CANCEL_REQUESTED') this.#isStopping = true;
      if (!isOfPausing(event)) continue;
      isAny = true;
      const { signalName, input } = event.attributes;
      this.#paused = pausedAfter(this.#paused, signalName, input);
    }
    if (this.#isStopping) this.#paused = undefined;
    return isAny ? incoming.filter((event) => !isOfPausing(event)) : incoming;
  }
}

const isOfPausing = (event: HistoryEvent): event is EventOf<'WORKFLOW_EXECUTION_SIGNALED'> =>
  event.type === 'WORKFLOW_EXECUTION_SIGNALED' && isPauseSignal(event.attributes.signalName);
