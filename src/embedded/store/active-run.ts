/**
 * A run in memory: its state, what of it is not on disk yet, and what is under way for it. Holds data and the few
 * rules that keep it consistent; decisions are made by the engine's parts.
 */

import type { CostRecord } from '../../core/cost/cost.js';
import type { PerdureError } from '../../core/errors.js';
import { CLOSE_EVENTS, type HistoryEvent, type NewEvent } from '../../core/history/event.js';
import type { Failure } from '../../core/history/failure.js';
import type { ResultFormat } from '../../core/run/run.js';
import type { CodeVersion } from '../../core/run/version.js';
import type { QueryAnswer, TurnFailureCause, UpdateRequest } from '../../core/task.js';
import type { TraceContext } from '../../core/trace-context.js';
import type { Payload } from '../../core/values/json.js';
import { SparseMap, SparseSet } from '../../core/values/sparse.js';
import { eventBytes } from '../state/event-bytes.js';
import {
  applyEvent,
  firstTurnDueAt,
  isActive,
  isClosed,
  openCosts,
  type RunState,
  treeOf,
  wakeAt,
} from '../state/run-state.js';
import type { Suspicion } from '../workers/dispatcher.js';
import type { WorkerConnection } from '../workers/worker-connection.js';
import { Inbox } from './inbox.js';

/** What a save wrote beside what the run knows by itself; true of the run only when the commit has returned. */
export interface Saved {
  historyBytes: number;
  isActive: boolean;
  wakeAt: number | undefined;
}

/** Why a run does not go on although it could. */
export interface HeldBack {
  reason: string;
  since: number;
  attempt: number;
  /** When it is tried again; absent once its turn is queued for that, which has no further instant to wait for. */
  retryAt?: number;
  /** Its turn has ended workers, and is tried again where it harms nobody else. */
  endsWorkers?: boolean;
  /** Versions of the code that could not make its turn, by their ids: another one may. */
  misfits?: string[];
}

/** A turn that code of one version could not make, and that is offered to others. */
export interface FailedTurn {
  startedAt: number;
  cause: TurnFailureCause;
  failure: Failure;
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
  /** Of the callers whose messages it takes. */
  causes?: TraceContext[];
}

/** An update that a caller waits for. Not durable until the run accepts it. */
export interface AdmittedUpdate {
  request: UpdateRequest;
  resolve(outcome: UpdateOutcome): void;
  /** The run in whose list it waits; absent while a worker has it, and once it was accepted. */
  waitsIn?: ActiveRun;
  /** The time to wait for a worker is over: what its caller is told if it comes back from one undecided. */
  overdue?: PerdureError;
  /** It has cost a worker: it is tried once more, by itself, and then refused. */
  hasCost?: boolean;
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
  /** It has cost a worker: it is tried once more, by itself, and then refused. */
  hasCost?: boolean;
  /** Its caller has been told that nobody answered. */
  isGivenUp?: boolean;
  /** Code that could not answer it since the run's history does not fit, and what the last of it said. */
  misfits?: { ids: Set<string>; reason: string };
}

export class ActiveRun {
  /** Appended and not committed yet. */
  unsaved: HistoryEvent[] = [];
  /** Steps up to this event start over from the reset, so what became of them is not told by their own events. */
  #resetUpTo = 0;
  historyBytes = 0;
  #unsavedBytes = 0;
  isNew = false;
  /** Steps whose delivery changed since the last commit. */
  readonly changedSteps = new Set<number>();
  /** Steps that have a row. */
  readonly savedSteps = new SparseSet<number>();
  /** Steps that a worker has, with the attempt it has. */
  readonly handedOut = new Map<number, number>();
  savedActive = false;
  savedWakeAt: number | undefined;
  /** Columns beside the history that changed: format, held back, version, paused. */
  changed = false;
  format: ResultFormat | undefined;
  heldBack: HeldBack | undefined;
  /** Of the code that made its last turn. */
  version: CodeVersion | undefined;

  /** What waits for the turn under way to end. */
  inbox = new Inbox();

  turn: TurnUnderWay | undefined;
  /** Turns in a row that were lost with their worker, and may have been why. */
  lostTurns = 0;
  /** Code that its history does not fit, by the ids of its versions, and how the last of them failed. */
  readonly misfits = new SparseSet<string>();
  /** One of the misfits, which is one only because its worker ended in a turn, once: it may have been something else. */
  doubted: string | undefined;
  failedTurn: FailedTurn | undefined;
  /** Something came between a step and the turn that a worker began after it, which cost a replay: it may do so again. */
  wasBegunInVain = false;
  /** Appended since the last turn was handed out: what the worker that has the run cached still lacks. */
  unsent: HistoryEvent[] = [];
  /** Of them that are on disk, about. */
  #unsentCost = 0;
  /** As `Runs` has counted it. */
  countedBytes = 0;

  admitted: AdmittedUpdate[] = [];
  /** Accepted updates whose caller still waits. */
  readonly accepted = new SparseMap<string, AdmittedUpdate>();
  queries: WaitingQuery[] = [];
  closeEvent: HistoryEvent | undefined;
  /** Listeners know that it is closed. */
  isCloseTold = false;

  constructor(
    readonly key: number,
    readonly state: RunState,
  ) {}

  /** The events that a new run begins with, of which its state is made. */
  beginsWith(events: HistoryEvent[]): void {
    this.isNew = true;
    this.unsaved = events;
    for (const event of events) this.#unsavedBytes += eventBytes(event);
  }

  append(event: NewEvent, now: number): HistoryEvent {
    const { state } = this;
    const numbered = {
      id: state.lastEventId + 1,
      at: Math.max(now, state.lastAt),
      type: event.type,
      attributes: event.attributes,
    } as HistoryEvent;
    if (numbered.at > now && (event.type === 'TIMER_STARTED' || event.type === 'ACTIVITY_TASK_SCHEDULED')) {
      event.attributes.countsFrom = now;
    }
    const refers = numbered.attributes as { startedEventId?: number };
    if (refers.startedEventId === EVENT_BEFORE) refers.startedEventId = numbered.id - 1;
    if (CLOSE_EVENTS.has(numbered.type)) {
      // Nobody will hear of the steps that the run leaves behind, so it says itself what they have spent.
      const left = openCosts(state);
      if (left.length > 0) (numbered.attributes as { costs?: CostRecord[] }).costs = left;
    }
    applyEvent(state, numbered);
    this.unsaved.push(numbered);
    this.#unsavedBytes += eventBytes(numbered);
    this.unsent.push(numbered);
    // A run that nobody takes a turn of must not collect its history here; it is on disk.
    if (this.unsent.length > MAX_UNSENT) this.unsent = [];
    if (numbered.type === 'WORKFLOW_TASK_FAILED' && numbered.attributes.cause === 'RESET_WORKFLOW') {
      this.#resetUpTo = numbered.id;
    }
    if (CLOSE_EVENTS.has(numbered.type)) this.closeEvent = numbered;
    return numbered;
  }

  /** The commit has returned: what it wrote need not be written again. */
  saved({ historyBytes, isActive, wakeAt }: Saved): void {
    this.historyBytes += historyBytes;
    this.#unsavedBytes = 0;
    this.#unsentCost =
      this.unsent.length === 0 ? 0 : this.#unsentCost + historyBytes + this.unsaved.length * EVENT_COST;
    if (this.#unsentCost > MAX_UNSENT_COST) {
      this.unsent = [];
      this.#unsentCost = 0;
    }
    this.savedActive = isActive;
    this.savedWakeAt = wakeAt;
    this.unsaved = [];
    this.isNew = false;
    this.changed = false;
    this.inbox.saved();
    for (const id of this.changedSteps) {
      if (this.state.steps.has(id)) this.savedSteps.add(id);
      else this.savedSteps.delete(id);
    }
    if (this.isClosed) this.savedSteps.clear();
    this.changedSteps.clear();
  }

  /** The event, if it is not committed yet and the run was not reset after it. */
  unsavedEvent(id: number): HistoryEvent | undefined {
    const first = this.unsaved[0];
    return first && id > this.#resetUpTo ? this.unsaved[id - first.id] : undefined;
  }

  get isClosed(): boolean {
    return isClosed(this.state);
  }

  /** What its history has, or will have once it is saved and has taken what waits. */
  get extent(): { events: number; bytes: number } {
    const { events, bytes } = this.inbox.waiting;
    return {
      events: this.state.lastEventId + events,
      bytes: this.historyBytes + this.#unsavedBytes + bytes,
    };
  }

  /** What it takes to read its history and to go through it, in bytes of long events. */
  get readingCost(): number {
    return this.historyBytes + this.state.lastEventId * EVENT_COST;
  }

  /** When something happens to the run by itself, the retry of a failed turn included. */
  get dueAt(): number | undefined {
    const wake = wakeAt(this.state);
    const retryAt = this.isClosed ? undefined : this.heldBack?.retryAt;
    return retryAt === undefined ? wake : Math.min(wake ?? retryAt, retryAt);
  }

  /**
   * A restart has to take it up: a turn or a step is queued or with a worker, something waits to be seen by it, or it is
   * held back and tried again, perhaps for messages that nobody waits for any more.
   */
  get isActive(): boolean {
    if (this.isClosed) return false;
    const isTriedAgain = this.heldBack !== undefined && this.heldBack.retryAt === undefined;
    return isActive(this.state) || this.inbox.length > 0 || isTriedAgain;
  }

  /** What is held against what the run needs next: a turn, or else the answers to its messages. */
  get suspicion(): Suspicion {
    if (this.heldBack?.endsWorkers || this.lostTurns > 1) return 'proven';
    if (this.lostTurns === 1) return 'suspect';
    if (this.state.turnScheduledEventId !== undefined) return 'none';
    const takesUpdates = !this.isClosed && !this.isPaused;
    const waiting = this.admitted.length > 0 && takesUpdates ? this.admitted : this.queries;
    return waiting.length > 0 && waiting.every(({ hasCost }) => hasCost) ? 'proven' : 'none';
  }

  /** What all runs that descend from one workflow have in common. */
  get tree(): string {
    return treeOf(this.state);
  }

  /** A scheduled turn, or messages that only a turn can answer, wait for a worker. */
  get needsTurn(): boolean {
    return (
      !this.isClosed &&
      !this.isBackingOff &&
      (this.state.turnScheduledEventId !== undefined || (this.admitted.length > 0 && !this.isPaused))
    );
  }

  /** The time at which it is tried again has not come. */
  isHeldBackAt(now: number): boolean {
    return this.heldBack?.retryAt !== undefined && this.heldBack.retryAt > now;
  }

  /** What comes now waits until a worker has made the turn before it, or until its retry begins. */
  get hasTurnToMake(): boolean {
    return this.turn !== undefined || this.state.turnScheduledEventId !== undefined || this.isBackingOff;
  }

  /** None of its steps is handed out and updates wait; its turns are made, and deliver nothing. */
  get isPaused(): boolean {
    return this.state.paused !== undefined;
  }

  /** It follows a failed run and makes its first turn later; until then messages wait, as on Temporal. */
  get isBackingOff(): boolean {
    return firstTurnDueAt(this.state) !== undefined;
  }

  /** The updates wait in this run, before those that do already. Those whose time is over are told so instead. */
  admitAgain(updates: readonly AdmittedUpdate[]): void {
    const inTime: AdmittedUpdate[] = [];
    for (const update of updates) {
      if (update.overdue) update.resolve({ kind: 'refused', error: update.overdue });
      else inTime.push(update);
    }
    for (const update of inTime) update.waitsIn = this;
    this.admitted.unshift(...inTime);
  }

  /** The updates that wait and are wanted no longer wait here. */
  takeAdmitted(isWanted: (update: AdmittedUpdate) => boolean = () => true): AdmittedUpdate[] {
    const taken = this.admitted.filter(isWanted);
    if (taken.length > 0) this.admitted = this.admitted.filter((update) => !taken.includes(update));
    for (const update of taken) update.waitsIn = undefined;
    return taken;
  }

  /** What of callers and authors it holds in memory while it is quiet. */
  get heldBytes(): number {
    let bytes = lengthOf(this.state.started.input);
    for (const { input } of this.state.steps.values()) bytes += lengthOf(input);
    return bytes;
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
      this.inbox.isSaved &&
      this.admitted.length === 0 &&
      this.accepted.size === 0 &&
      this.queries.length === 0 &&
      this.lostTurns === 0 &&
      this.failedTurn === undefined
    );
  }
}

const MAX_UNSENT = 1_000;
/** Once it is on disk. A turn is most often handed out before, so only what waits for a worker is read again. */
const MAX_UNSENT_COST = 32 * 1024;
/** What an event costs beside its bytes, in bytes: the shortest take fourteen on disk, and as long to read as sixty others. */
const EVENT_COST = 64;

const lengthOf = (payloads: readonly Payload[]): number =>
  payloads.reduce((length, payload) => length + payload.length, 0);

/** Stands for the number of the event just before, in a group of events that have no numbers yet. */
export const EVENT_BEFORE = -1;
