/**
 * Runs turn tasks: replays what is recorded, runs what is new, answers queries, and keeps runs for the next task.
 *
 * A cached run goes on with the events that it has not had yet; any other is built up from event 1. Both ways lead
 * through the same code, so the same commands come out. A run that a query or a refused update may have changed is built
 * up anew for its next turn.
 */
import type { Command } from '../../core/history/command.js';
import type { HistoryEvent } from '../../core/history/event.js';
import type { FromWorker, QueryAnswer, QueryRequest, TurnTask } from '../../core/task.js';
import { setRuntime } from '../../sdk/runtime.js';
import type { Modules } from './realm/modules.js';
import { failureOf } from './run/failures.js';
import type { Update } from './run/handlers.js';
import { AbandonedTurnError, HistoryReader, type RecordedTurn } from './run/history.js';
import { matchCommands, NonDeterminismError } from './run/match.js';
import { type Pieces, Run, type RunHost } from './run/run.js';
import type { RunCache } from './run/run-cache.js';

export type TurnAnswer = Extract<FromWorker, { kind: 'turnCompleted' | 'turnMissed' | 'turnFailed' }>;

/** A run with its place in the history. */
export class ReplayedRun {
  readonly run: Run;
  readonly reader = new HistoryReader();
  readonly #host: Pick<TurnHost, 'drain' | 'replayed'>;
  /** Of the turn that ran last, until its record has come. */
  #unrecorded: Command[] = [];

  constructor(run: Run, host: Pick<TurnHost, 'drain' | 'replayed'>) {
    this.run = run;
    this.#host = host;
  }

  /** Brings the run up to the end of `events`. @throws NonDeterminismError, AbandonedTurnError */
  replay(events: readonly HistoryEvent[]): void {
    for (const turn of this.reader.read(events)) {
      const commands = turn.executed ? this.#unrecorded : this.#whole(this.run.activate(asInput(turn)));
      matchCommands(commands, turn.commandEvents, this.run);
      this.#unrecorded = [];
      this.#host.replayed();
    }
  }

  /** Runs the turn that the task asks for. */
  advance(task: TurnTask): Command[] {
    const { incoming, reseed } = this.reader.takeOpen();
    const turn = this.run.activate({
      now: task.startedAt,
      historyLength: task.historyLength,
      continueAsNewSuggested: task.continueAsNewSuggested,
      replaying: false,
      incoming,
      updates:
        task.updates.length === 0 ? NONE : task.updates.map((update) => ({ ...update, accepted: false })),
      patches: NONE,
      reseed,
    });
    this.#unrecorded = this.#whole(turn);
    return this.#unrecorded;
  }

  answer(queries: readonly QueryRequest[]): QueryAnswer[] {
    return this.#whole(this.run.answer(queries));
  }

  /** Runs all pieces, with all that follows from them in between. */
  #whole<T>(pieces: Pieces<T>): T {
    for (;;) {
      const piece = pieces.next();
      if (piece.done) return piece.value;
      this.#host.drain();
    }
  }
}

const NONE: never[] = [];

function asInput(turn: RecordedTurn) {
  const updates: Update[] = [];
  const patches: string[] = [];
  for (const { type, attributes } of turn.commandEvents) {
    if (type === 'WORKFLOW_EXECUTION_UPDATE_ACCEPTED') {
      const { updateId, updateName, input } = attributes;
      updates.push({ updateId, name: updateName, input, accepted: true });
    } else if (type === 'MARKER_RECORDED') {
      patches.push(attributes.details.patchId);
    }
  }
  return {
    now: turn.started.attributes.workflowTime ?? turn.started.at,
    historyLength: turn.started.id - 1,
    continueAsNewSuggested: turn.started.attributes.suggestContinueAsNew === true,
    replaying: true,
    incoming: turn.incoming,
    updates,
    patches,
    reseed: turn.reseed,
  };
}

export interface TurnHost extends RunHost {
  /** Runs everything that is ready to run: all promise jobs, until none is left. */
  drain(): void;
  /** A recorded turn has been replayed: however long the whole takes, it gets on. */
  replayed(): void;
}

export class TurnRunner {
  readonly #modules: Modules;
  readonly #host: TurnHost;
  readonly #cache: RunCache<ReplayedRun>;

  constructor(modules: Modules, host: TurnHost, cache: RunCache<ReplayedRun>) {
    this.#modules = modules;
    this.#host = host;
    this.#cache = cache;
  }

  runTurn(task: TurnTask): TurnAnswer {
    const { turnId, runId } = task;
    try {
      const replayed = this.#runOf(task);
      if (!replayed) return { kind: 'turnMissed', turnId, runId };
      setRuntime(replayed.run);
      replayed.replay(task.events);
      const commands = task.readOnly ? [] : replayed.advance(task);
      const answers = replayed.answer(task.queries);
      // A closed run gets no further turn, so keeping it would only cost another one its place.
      if (!replayed.run.closed || task.readOnly) this.#cache.put(runId, replayed);
      return { kind: 'turnCompleted', turnId, runId, commands, answers };
    } catch (error) {
      // What the turn left behind must not run in the turn of another run.
      this.#host.drain();
      if (error instanceof AbandonedTurnError) return { kind: 'turnMissed', turnId, runId };
      const cause =
        error instanceof NonDeterminismError
          ? 'NON_DETERMINISTIC_ERROR'
          : 'WORKFLOW_WORKER_UNHANDLED_FAILURE';
      return { kind: 'turnFailed', turnId, runId, cause, failure: failureOf(error, this.#host.stacks) };
    } finally {
      setRuntime(undefined);
    }
  }

  /** The run as it stands before the task's events; it is not in the cache while it is worked on, and not after a failure. */
  #runOf(task: TurnTask): ReplayedRun | undefined {
    const cached = this.#cache.take(task.runId);
    const first = task.events[0]?.id ?? task.historyLength + 1;
    if (first !== 1) {
      const isAt = cached?.reader.nextEventId === first;
      // What queries may have changed can answer more of them, but no turn is built upon it.
      const isFit = !cached?.run.isTainted || (task.readOnly && task.events.length === 0);
      return isAt && isFit ? cached : undefined;
    }
    const { workflowId, runId, workflowType, catalog } = task;
    if (!this.#modules.has(workflowType)) {
      throw new Error(
        `this worker has no workflow "${workflowType}"; it has ${this.#modules.workflowTypes.join(', ')}. Deploy the file that defines it`,
      );
    }
    const load = () => this.#modules.definition(workflowType);
    const run = new Run({ workflowId, runId, workflowType, catalog }, load, this.#host);
    return new ReplayedRun(run, this.#host);
  }
}
