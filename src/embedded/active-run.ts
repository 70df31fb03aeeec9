/**
 * A run in memory: its state, what of it is not on disk yet, and what is under way for it. Holds data and the few
 * rules that keep it consistent; decisions are made by the engine's parts.
 */

import type { PerdureError } from '../core/errors.js';
import { CLOSE_EVENTS, type HistoryEvent, type NewEvent } from '../core/event.js';
import type { Failure } from '../core/failure.js';
import type { Payload } from '../core/json.js';
import type { ResultFormat } from '../core/run.js';
import type { QueryAnswer, UpdateRequest } from '../core/task.js';
import { applyEvent, isClosed, type RunState, wakeAt } from './state.js';
import type { WorkerConnection } from './workers.js';

/** Why a run does not go on although it could. */
export interface HeldBack {
  reason: string;
  since: number;
  attempt: number;
  retryAt: number;
}

export interface TurnUnderWay {
  turnId: number;
  worker: WorkerConnection;
  startedAt: number;
  /** What the clock of the workflow shows, where a worker has begun the turn by itself. */
  workflowTime?: number;
  /** By the monotonic clock. */
  sentAt: number;
  /** The last event that the turn has seen. */
  upTo: number;
  updates: AdmittedUpdate[];
  queries: WaitingQuery[];
}

/** An update that a caller waits for. Not durable until the run accepts it. */
export interface AdmittedUpdate {
  request: UpdateRequest;
  resolve(outcome: UpdateOutcome): void;
}

export type UpdateOutcome =
  | { kind: 'completed'; result?: Payload }
  | { kind: 'failed'; failure: Failure }
  | { kind: 'refused'; error: PerdureError };

export interface WaitingQuery {
  queryId: number;
  name: string;
  input: Payload[];
  resolve(answer: QueryAnswer): void;
  refuse(error: PerdureError): void;
}

export class ActiveRun {
  /** Appended and not committed yet. */
  unsaved: HistoryEvent[] = [];
  historyBytes = 0;
  isNew = false;
  /** Steps whose delivery changed since the last commit. */
  readonly changedSteps = new Set<number>();
  /** Steps that have a row. */
  readonly savedSteps = new Set<number>();
  /** Steps that a worker has, with the attempt it has. */
  readonly handedOut = new Map<number, number>();
  savedActive = false;
  savedWakeAt: number | undefined;
  /** Columns beside the history that changed: format, held back. */
  changed = false;
  format: ResultFormat | undefined;
  heldBack: HeldBack | undefined;

  /** Event groups that wait for the turn under way to end; the first `savedInbox` of them are on disk. */
  inbox: NewEvent[][] = [];
  savedInbox = 0;
  signalsInInbox = 0;

  turn: TurnUnderWay | undefined;
  /** Turns in a row that were lost with their worker. */
  lostTurns = 0;
  isTurnQueued = false;
  /** Something came between a step and the turn that a worker began after it, which cost a replay: it may do so again. */
  wasBegunInVain = false;
  /** Appended since the last turn was handed out: what the worker that has the run cached still lacks. */
  unsent: HistoryEvent[] = [];

  admitted: AdmittedUpdate[] = [];
  /** Accepted updates whose caller still waits. */
  readonly accepted = new Map<string, AdmittedUpdate>();
  queries: WaitingQuery[] = [];
  closeEvent: HistoryEvent | undefined;
  /** Listeners know that it is closed. */
  isCloseTold = false;
  /** What the run list shows as its start; for a reset run later than its first event. */
  startedAt: number;

  constructor(
    readonly key: number,
    readonly state: RunState,
  ) {
    this.startedAt = state.startedAt;
  }

  append(event: NewEvent, now: number): HistoryEvent {
    const { state } = this;
    const numbered = {
      id: state.lastEventId + 1,
      at: Math.max(now, state.lastAt),
      type: event.type,
      attributes: event.attributes,
    } as HistoryEvent;
    const refers = numbered.attributes as { startedEventId?: number };
    if (refers.startedEventId === EVENT_BEFORE) refers.startedEventId = numbered.id - 1;
    applyEvent(state, numbered);
    this.unsaved.push(numbered);
    this.unsent.push(numbered);
    // A run that nobody takes a turn of must not collect its history here; it is on disk.
    if (this.unsent.length > MAX_UNSENT) this.unsent = [];
    if (CLOSE_EVENTS.has(numbered.type)) this.closeEvent = numbered;
    return numbered;
  }

  /** The event, if it is not committed yet. */
  unsavedEvent(id: number): HistoryEvent | undefined {
    const first = this.unsaved[0];
    return first && this.unsaved[id - first.id];
  }

  get isClosed(): boolean {
    return isClosed(this.state);
  }

  /** When something happens to the run by itself, the retry of a failed turn included. */
  get dueAt(): number | undefined {
    const wake = wakeAt(this.state);
    const retryAt = this.isClosed ? undefined : this.heldBack?.retryAt;
    return retryAt === undefined ? wake : Math.min(wake ?? retryAt, retryAt);
  }

  /** Its turn was with more than one worker that died. */
  get isSuspect(): boolean {
    return this.lostTurns > 1;
  }

  /** A scheduled turn, or messages that only a turn can answer, wait for a worker. */
  get needsTurn(): boolean {
    return !this.isClosed && (this.state.turnScheduledEventId !== undefined || this.admitted.length > 0);
  }

  /** Nothing in memory that is not on disk: the run can be dropped and read again. */
  get isQuiet(): boolean {
    return (
      this.unsaved.length === 0 &&
      this.changedSteps.size === 0 &&
      !this.changed &&
      !this.isNew &&
      this.turn === undefined &&
      this.inbox.length === 0 &&
      this.admitted.length === 0 &&
      this.accepted.size === 0 &&
      this.queries.length === 0
    );
  }
}

const MAX_UNSENT = 1_000;

/** Stands for the number of the event just before, in a group of events that have no numbers yet. */
export const EVENT_BEFORE = -1;
