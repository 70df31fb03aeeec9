/** The answer to a turn becomes history: its commands as events, what those ask for, and the answers to updates. */
import { PerdureError } from '../../core/errors.js';
import { faultPoint } from '../../core/fault-point.js';
import type { Command } from '../../core/history/command.js';
import type { EventAttributes, HistoryEvent } from '../../core/history/event.js';
import type { Kernel } from '../kernel.js';
import type { Lifecycle } from '../life/lifecycle.js';
import type { Outbox } from '../life/outbox.js';
import type { Piece } from '../life/piecemeal.js';
import type { Relations } from '../life/relations.js';
import { eventOfCommand } from '../state/command-events.js';
import type { ActiveRun, AdmittedUpdate, TurnUnderWay } from '../store/active-run.js';
import { storageFailure } from '../store/damage.js';
import type { WorkerConnection } from '../workers/worker-connection.js';
import type { HeldBackRuns } from './held-back.js';
import type { StepQueue } from './step-queue.js';
import type { StepDelivery } from './steps.js';
import { suggestsContinueAsNew } from './turn-task.js';

export class TurnRecord {
  constructor(
    private readonly kernel: Kernel,
    private readonly lifecycle: Lifecycle,
    private readonly relations: Relations,
    private readonly stepQueue: StepQueue,
    private readonly steps: StepDelivery,
    private readonly heldBack: HeldBackRuns,
    private readonly outbox: Outbox,
  ) {}

  /**
   * Whether the turn is in the history. Should recording it fail half-way, which is a fault of ours, nothing of it may
   * reach the disk: the run is set apart as it was before, and goes on from there after the next start.
   */
  recorded(
    run: ActiveRun,
    turn: TurnUnderWay,
    worker: WorkerConnection,
    commands: readonly Command[],
  ): boolean {
    try {
      this.#record(run, turn, worker, commands);
      return true;
    } catch (error) {
      // Where the disk has failed the run is as sound as any other.
      if (storageFailure(error) !== 'definite') throw error;
      const { workflowId, runId } = run.state;
      run.admitAgain(turn.updates);
      run.queries.unshift(...turn.queries);
      const reason = `its turn could not be recorded (${(error as Error).message})`;
      this.kernel.runs.setApart({ workflowId, runId, key: run.key }, reason);
      return false;
    }
  }

  #record(run: ActiveRun, turn: TurnUnderWay, worker: WorkerConnection, commands: readonly Command[]): void {
    const { lifecycle } = this;
    const { state } = run;
    if (state.turnScheduledEventId === undefined) {
      lifecycle.append(run, { type: 'WORKFLOW_TASK_SCHEDULED', attributes: { attempt: 1 } }, turn.startedAt);
    }
    const wasStopNews = state.isStopNews;
    const scheduledEventId = state.turnScheduledEventId!;
    const { startedAt, workflowTime = startedAt } = turn;
    const attributes: EventAttributes['WORKFLOW_TASK_STARTED'] = { scheduledEventId };
    if (suggestsContinueAsNew(this.kernel, turn.upTo)) attributes.suggestContinueAsNew = true;
    if (workflowTime !== startedAt) attributes.workflowTime = workflowTime;
    const started = lifecycle.append(run, { type: 'WORKFLOW_TASK_STARTED', attributes }, startedAt);
    const now = this.kernel.clock.now();
    lifecycle.append(
      run,
      { type: 'WORKFLOW_TASK_COMPLETED', attributes: { scheduledEventId, startedEventId: started.id } },
      now,
    );
    if (run.heldBack) this.heldBack.goesOn(run);
    const isOtherCode = run.version?.id !== worker.version.id || run.version.name !== worker.version.name;
    if (isOtherCode || run.format === undefined) {
      if (run.version) this.#keepCode(run, run.version.id);
      run.version = worker.version;
      run.format ??= worker.format;
      run.changed = true;
    }
    const admitted = byId(turn.updates);
    const appended: HistoryEvent[] = [];
    const requestOf = (updateId: string) => admitted.get(updateId)?.request;
    for (const command of commands) {
      if (command.kind === 'failRun') {
        const { failure } = command;
        appended.push(
          lifecycle.append(
            run,
            {
              type: 'WORKFLOW_EXECUTION_FAILED',
              attributes: { failure, newExecutionRunId: lifecycle.retryOf(run, failure) },
            },
            now,
          ),
        );
        continue;
      }
      const event = eventOfCommand(state, command, requestOf, () => this.kernel.ids.newRunId(now));
      if (event) appended.push(lifecycle.append(run, event, now));
    }
    this.settleUpdates(run, turn.updates, commands);
    lifecycle.takeInbox(run);
    const piece = this.outbox.piece();
    for (const event of appended) this.#carryOut(run, event, piece);
    // What the code still wants now that it knows that it was asked to stop: nothing was spent on it until then.
    if (wasStopNews && !state.isStopNews && !run.isClosed) this.stepQueue.resumed(run, started.id);
    faultPoint('turnAnswered');
  }

  /** Other code goes on with the run: the steps that are open stay with the one that asked for them. */
  #keepCode(run: ActiveRun, codeId: string): void {
    for (const { scheduledEventId, delivery, closing } of run.state.steps.values()) {
      if (closing || delivery.codeId !== undefined) continue;
      delivery.codeId = codeId;
      run.changedSteps.add(scheduledEventId);
    }
  }

  /** What an event of a turn asks for. */
  #carryOut(run: ActiveRun, event: HistoryEvent, piece: Piece): void {
    switch (event.type) {
      case 'ACTIVITY_TASK_SCHEDULED': {
        const step = run.state.steps.get(event.id);
        if (step) this.stepQueue.enqueue(run, step);
        return;
      }
      case 'ACTIVITY_TASK_CANCEL_REQUESTED':
        this.steps.cancel(run, event.attributes.scheduledEventId, event.id);
        return;
      case 'START_CHILD_WORKFLOW_EXECUTION_INITIATED':
        this.relations.startChild(run, event);
        return;
      case 'SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED':
      case 'REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED':
        this.outbox.send(run, event, piece);
        return;
      case 'WORKFLOW_EXECUTION_COMPLETED':
      case 'WORKFLOW_EXECUTION_FAILED':
      case 'WORKFLOW_EXECUTION_CANCELED':
      case 'WORKFLOW_EXECUTION_CONTINUED_AS_NEW':
        // The worker that closed it keeps nothing of it.
        this.kernel.dispatcher.forget(run.state.runId, false);
        this.lifecycle.afterClose(run);
        return;
      default:
    }
  }

  /** Those that the turn has not answered wait for the next one. */
  settleUpdates(run: ActiveRun, given: readonly AdmittedUpdate[], commands: readonly Command[]): void {
    const open = byId(given);
    for (const command of commands) {
      switch (command.kind) {
        case 'acceptUpdate': {
          const update = open.get(command.updateId);
          if (update) run.accepted.set(command.updateId, update);
          open.delete(command.updateId);
          faultPoint('updateAccepted');
          break;
        }
        case 'completeUpdate': {
          const update = run.accepted.get(command.updateId);
          run.accepted.delete(command.updateId);
          const { result, failure } = command;
          this.kernel.commit.afterCommit(() =>
            update?.resolve(failure ? { kind: 'failed', failure } : { kind: 'completed', result }),
          );
          faultPoint('updateCompleted');
          break;
        }
        case 'rejectUpdate': {
          // It waits on.
          if (command.reason === 'paused') break;
          const update = open.get(command.updateId);
          open.delete(command.updateId);
          const error = new PerdureError(
            command.reason === 'noHandler' ? 'HandlerNotFoundError' : 'UpdateRejectedError',
            command.failure.message,
            { workflowId: run.state.workflowId, runId: run.state.runId },
          );
          this.kernel.commit.afterCommit(() => update?.resolve({ kind: 'refused', error }));
          break;
        }
        default:
      }
    }
    if (open.size > 0) run.admitAgain([...open.values()]);
  }
}

/** Most turns have none, and need no place for them. */
const byId = (updates: readonly AdmittedUpdate[]): Map<string, AdmittedUpdate> =>
  updates.length === 0 ? NONE : new Map(updates.map((update) => [update.request.updateId, update]));
const NONE = new Map<string, never>();
