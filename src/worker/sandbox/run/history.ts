/**
 * Splits a history into turns. Pure.
 *
 * A turn covers what came in since the turn before it. A recorded turn ends with WORKFLOW_TASK_COMPLETED, which is
 * followed by the events of its commands; those are needed before the turn runs, since they say which updates were
 * accepted in it and which patches it took. An attempt that failed (WORKFLOW_TASK_FAILED) was no turn: what came in
 * before it belongs to the next one.
 */
import { COMMAND_EVENTS, type EventOf, type HistoryEvent } from '../../../core/history/event.js';
import { invariant } from '../../../core/invariant.js';

export interface RecordedTurn {
  started: EventOf<'WORKFLOW_TASK_STARTED'>;
  /** What this turn delivers to the workflow. */
  incoming: HistoryEvent[];
  /** What the turn asked for when it ran first, in order. */
  commandEvents: HistoryEvent[];
  /** The new run's id when the run was reset right before this turn. */
  reseed: string | undefined;
  /** The turn ran here already, by `takeOpen`: this is its record. */
  executed: boolean;
}

/** An attempt that ran here was not accepted: what is in memory is ahead of the history. */
export class AbandonedTurnError extends Error {
  override readonly name = 'AbandonedTurnError';
}

export class HistoryReader {
  #incoming: HistoryEvent[] = [];
  #started: EventOf<'WORKFLOW_TASK_STARTED'> | undefined;
  #reseed: string | undefined;
  #nextEventId = 1;
  #executed = false;

  /** The number of the event that this reader wants next. */
  get nextEventId(): number {
    return this.#nextEventId;
  }

  /** The recorded turns in `events`, which must start at `nextEventId`. What follows the last one waits for `takeOpen`. */
  read(events: readonly HistoryEvent[]): RecordedTurn[] {
    const turns: RecordedTurn[] = [];
    for (let at = 0; at < events.length; at++) {
      const event = events[at]!;
      switch (event.type) {
        case 'WORKFLOW_TASK_SCHEDULED':
          break;
        case 'WORKFLOW_TASK_STARTED':
          this.#started = event;
          break;
        case 'WORKFLOW_TASK_FAILED':
          if (this.#executed) throw new AbandonedTurnError(`turn ${event.attributes.startedEventId} failed`);
          this.#started = undefined;
          if (event.attributes.cause === 'RESET_WORKFLOW') this.#reseed = event.attributes.newRunId;
          break;
        case 'WORKFLOW_TASK_COMPLETED': {
          const commandEvents: HistoryEvent[] = [];
          while (at + 1 < events.length && COMMAND_EVENTS.has(events[at + 1]!.type))
            commandEvents.push(events[++at]!);
          invariant(this.#started, `event ${event.id} completes a turn that was not started`);
          turns.push(this.#close(this.#started, commandEvents));
          break;
        }
        default:
          this.#incoming.push(event);
      }
    }
    if (events.length > 0) this.#nextEventId = events[events.length - 1]!.id + 1;
    return turns;
  }

  /** What has come in since the last turn, for a turn that runs now; its record is expected next. */
  takeOpen(): { incoming: HistoryEvent[]; reseed: string | undefined } {
    const open = { incoming: this.#incoming, reseed: this.#reseed };
    this.#incoming = [];
    this.#reseed = undefined;
    this.#executed = true;
    return open;
  }

  #close(started: EventOf<'WORKFLOW_TASK_STARTED'>, commandEvents: HistoryEvent[]): RecordedTurn {
    const executed = this.#executed;
    // What ran here took its events already; what is left came in later and is for the next turn.
    const { incoming, reseed } = executed ? { incoming: [], reseed: undefined } : this.takeOpen();
    this.#executed = false;
    this.#started = undefined;
    return { started, incoming, commandEvents, reseed, executed };
  }
}
