/**
 * What Temporal's core tells a run, in the words of a history.
 *
 * Core reads the history itself and hands out jobs that name an operation by the number its command had. The run knows
 * operations by the event that recorded their command, so each gets a number here that stands for that event.
 */
import type { coresdk } from '@temporalio/proto';
import type { Command } from '../../core/history/command.js';
import type { HistoryEvent, NewEvent } from '../../core/history/event.js';
import { type Failure, stepTimeoutMessage } from '../../core/history/failure.js';
import type { Payload } from '../../core/values/json.js';
import { activityTypeOf, CHILD_ENDED_HEADER, type EndedChild } from '../cluster/conventions.js';
import { failureFromProto } from '../translate/failure.js';
import { fromPayload, fromPayloads } from '../translate/payload.js';

type Job = coresdk.workflow_activation.IWorkflowActivationJob;
type Seq = number | null | undefined;
type Kind = 'step' | 'timer' | 'child' | 'signal' | 'cancel';

interface Pending {
  eventId: number;
  command: Command;
  /** Of a child: it has been started. */
  isStarted: boolean;
}

export interface Beginning {
  startedAt: number;
  attempt: number;
  parent: { workflowId: string; runId: string } | undefined;
}

export class IncomingEvents {
  readonly #pending = new Map<string, Pending>();
  #lastEventId = 0;

  constructor(
    private readonly workflowType: string,
    private readonly livenessMs: number,
  ) {}

  /** Steps, timers and children that the run waits for. */
  get pending(): number {
    let count = 0;
    for (const { command } of this.#pending.values()) if (COUNTED.has(command.kind)) count++;
    return count;
  }

  /** Whether something is on its way to others that outlives the run, and that the cluster drops if the run closes first. */
  get isOnItsWay(): boolean {
    for (const { command, isStarted } of this.#pending.values()) {
      if (command.kind === 'signalExternal' || command.kind === 'cancelExternal') return true;
      if (command.kind === 'startChild' && command.parentClosePolicy === 'ABANDON' && !isStarted) return true;
    }
    return false;
  }

  /** The ids of children that are under way and end with the run. */
  get attachedChildren(): string[] {
    const ids: string[] = [];
    for (const { command, isStarted } of this.#pending.values()) {
      if (command.kind === 'startChild' && command.parentClosePolicy !== 'ABANDON' && isStarted)
        ids.push(command.workflowId);
    }
    return ids;
  }

  isChildStarted(childSeq: string): boolean {
    return this.#pending.get(`child/${childSeq}`)?.isStarted === true;
  }

  /** Whether its start was asked for, and the cluster has not said how that went. */
  isChildStarting(childSeq: string): boolean {
    return this.#pending.get(`child/${childSeq}`)?.isStarted === false;
  }

  /** Core takes `command` as it is; the number of the event that will record it. */
  record(command: Command): number {
    const eventId = ++this.#lastEventId;
    const key = keyOfCommand(command);
    if (key !== undefined) this.#pending.set(key, { eventId, command, isStarted: false });
    if (command.kind === 'cancelTimer') this.#pending.delete(`timer/${command.timerId}`);
    return eventId;
  }

  /** In the order in which they are to be delivered. Updates, queries and the first job are read elsewhere. */
  read(jobs: readonly Job[], beginning: Beginning): HistoryEvent[] {
    const events: HistoryEvent[] = [];
    for (const job of jobs) {
      const event = this.#eventOf(job, beginning);
      if (event) events.push({ ...event, id: 0, at: beginning.startedAt } as HistoryEvent);
    }
    return events;
  }

  #eventOf(job: Job, beginning: Beginning): NewEvent | undefined {
    if (job.initializeWorkflow) return started(job.initializeWorkflow, beginning);
    if (job.signalWorkflow) {
      const { signalName, input, headers } = job.signalWorkflow;
      if (headers?.[CHILD_ENDED_HEADER]) return this.#toldOfChild(fromPayloads({ payloads: input ?? [] }));
      return {
        type: 'WORKFLOW_EXECUTION_SIGNALED',
        attributes: { signalName: signalName ?? '', input: fromPayloads({ payloads: input ?? [] }) },
      };
    }
    if (job.cancelWorkflow) {
      return {
        type: 'WORKFLOW_EXECUTION_CANCEL_REQUESTED',
        attributes: { cause: job.cancelWorkflow.reason ?? '' },
      };
    }
    if (job.fireTimer) return this.#timerFired(job.fireTimer.seq);
    if (job.resolveActivity) return this.#stepEnded(job.resolveActivity);
    if (job.resolveChildWorkflowExecutionStart)
      return this.#childStart(job.resolveChildWorkflowExecutionStart);
    if (job.resolveChildWorkflowExecution) return this.#childEnded(job.resolveChildWorkflowExecution);
    if (job.resolveSignalExternalWorkflow) return this.#signalSent(job.resolveSignalExternalWorkflow);
    if (job.resolveRequestCancelExternalWorkflow) {
      return this.#cancellationSent(job.resolveRequestCancelExternalWorkflow);
    }
    return undefined;
  }

  #timerFired(seq: Seq): NewEvent {
    this.#take('timer', seq);
    return { type: 'TIMER_FIRED', attributes: { timerId: String(seq), startedEventId: 0 } };
  }

  #stepEnded({ seq, result }: coresdk.workflow_activation.IResolveActivity): NewEvent | undefined {
    const pending = this.#take('step', seq);
    if (!pending) return undefined;
    const closed = { scheduledEventId: pending.eventId, startedEventId: 0 };
    if (result?.completed) {
      const payload = fromPayload(result.completed.result);
      return { type: 'ACTIVITY_TASK_COMPLETED', attributes: { ...closed, result: payload } };
    }
    if (result?.cancelled) {
      return { type: 'ACTIVITY_TASK_CANCELED', attributes: { ...closed, latestCancelRequestedEventId: 0 } };
    }
    const failure = failureFromProto(result?.failed?.failure ?? {});
    if (failure.kind === 'timeout') {
      failure.attempt ??= attemptsOf(pending.command);
      this.#explainTimeout(failure, pending.command);
    }
    return {
      type: 'ACTIVITY_TASK_FAILED',
      attributes: { ...closed, failure, retryState: 'MAXIMUM_ATTEMPTS_REACHED' },
    };
  }

  /** Temporal tells which time was exceeded; the author knows it by the option and how long it was. */
  #explainTimeout(failure: Failure, command: Command): void {
    if (command.kind !== 'scheduleStep') return;
    const { stepName, settings } = command;
    const activityType = activityTypeOf(this.workflowType, stepName);
    if (failure.cause?.kind === 'timeout') this.#explainTimeout(failure.cause, command);
    switch (failure.timeoutType) {
      case 'START_TO_CLOSE':
        failure.message = stepTimeoutMessage(activityType, 'START_TO_CLOSE', settings.startToCloseTimeoutMs);
        break;
      case 'SCHEDULE_TO_START':
        failure.attempt = 1;
        failure.message = stepTimeoutMessage(
          activityType,
          'SCHEDULE_TO_START',
          settings.scheduleToStartTimeoutMs ?? 0,
        );
        break;
      case 'SCHEDULE_TO_CLOSE':
        failure.message = stepTimeoutMessage(
          activityType,
          'SCHEDULE_TO_CLOSE',
          settings.scheduleToCloseTimeoutMs ?? 0,
        );
        break;
      case 'HEARTBEAT':
        failure.message =
          settings.heartbeatTimeoutMs === undefined
            ? `the worker that ran step ${activityType} was not heard of for ${this.livenessMs} ms`
            : stepTimeoutMessage(activityType, 'HEARTBEAT', settings.heartbeatTimeoutMs);
        break;
      default:
    }
  }

  #childStart({
    seq,
    failed,
    cancelled,
  }: coresdk.workflow_activation.IResolveChildWorkflowExecutionStart): NewEvent | undefined {
    if (!failed && !cancelled) {
      const started = this.#pending.get(`child/${seq}`);
      if (started) started.isStarted = true;
      return undefined;
    }
    const pending = this.#take('child', seq);
    if (pending?.command.kind !== 'startChild') return undefined;
    const { workflowId, workflowType } = pending.command;
    return {
      type: 'START_CHILD_WORKFLOW_EXECUTION_FAILED',
      attributes: {
        initiatedEventId: pending.eventId,
        workflowId,
        workflowType,
        cause: failed ? 'WORKFLOW_ALREADY_EXISTS' : 'CANCELED',
      },
    };
  }

  #childEnded({
    seq,
    result,
  }: coresdk.workflow_activation.IResolveChildWorkflowExecution): NewEvent | undefined {
    const pending = this.#take('child', seq);
    if (pending?.command.kind !== 'startChild') return undefined;
    const { workflowId, workflowType } = pending.command;
    const closed = {
      initiatedEventId: pending.eventId,
      startedEventId: 0,
      workflowExecution: { workflowId, runId: '' },
      workflowType,
    };
    if (result?.completed) {
      const payload = fromPayload(result.completed.result);
      return { type: 'CHILD_WORKFLOW_EXECUTION_COMPLETED', attributes: { ...closed, result: payload } };
    }
    // The outer failure only says that it was a child's.
    const failure = result?.failed?.failure?.cause ?? {};
    if (result?.cancelled || failure.canceledFailureInfo) {
      return { type: 'CHILD_WORKFLOW_EXECUTION_CANCELED', attributes: closed };
    }
    if (failure.timeoutFailureInfo) return { type: 'CHILD_WORKFLOW_EXECUTION_TIMED_OUT', attributes: closed };
    if (failure.terminatedFailureInfo)
      return { type: 'CHILD_WORKFLOW_EXECUTION_TERMINATED', attributes: closed };
    return {
      type: 'CHILD_WORKFLOW_EXECUTION_FAILED',
      attributes: { ...closed, failure: failureFromProto(failure) },
    };
  }

  /** Of a child that ended while its parent was closed, before a reset. */
  #toldOfChild([told = '{}', result]: Payload[]): NewEvent | undefined {
    const { workflowId, end, failure } = JSON.parse(told) as EndedChild;
    for (const [key, { eventId, command, isStarted }] of this.#pending) {
      if (command.kind !== 'startChild' || !isStarted || command.workflowId !== workflowId) continue;
      this.#pending.delete(key);
      const closed = {
        initiatedEventId: eventId,
        startedEventId: 0,
        workflowExecution: { workflowId, runId: '' },
        workflowType: command.workflowType,
      };
      switch (end) {
        case 'completed':
          return { type: 'CHILD_WORKFLOW_EXECUTION_COMPLETED', attributes: { ...closed, result } };
        case 'cancelled':
          return { type: 'CHILD_WORKFLOW_EXECUTION_CANCELED', attributes: closed };
        case 'timed_out':
          return { type: 'CHILD_WORKFLOW_EXECUTION_TIMED_OUT', attributes: closed };
        case 'terminated':
          return { type: 'CHILD_WORKFLOW_EXECUTION_TERMINATED', attributes: closed };
        case 'failed':
          return {
            type: 'CHILD_WORKFLOW_EXECUTION_FAILED',
            attributes: {
              ...closed,
              failure: failure ?? { kind: 'application', type: 'Error', message: '' },
            },
          };
      }
    }
    return undefined;
  }

  #signalSent({
    seq,
    failure,
  }: coresdk.workflow_activation.IResolveSignalExternalWorkflow): NewEvent | undefined {
    const pending = this.#take('signal', seq);
    if (pending?.command.kind !== 'signalExternal') return undefined;
    const { eventId: initiatedEventId, command } = pending;
    const { workflowId } = command;
    if (!failure) {
      const workflowExecution = { workflowId, runId: '' };
      return {
        type: 'EXTERNAL_WORKFLOW_EXECUTION_SIGNALED',
        attributes: { initiatedEventId, workflowExecution },
      };
    }
    const cause = /signal.{0,200}(count|limit)/i.test(failure.message ?? '')
      ? 'SIGNAL_COUNT_LIMIT_EXCEEDED'
      : 'EXTERNAL_WORKFLOW_EXECUTION_NOT_FOUND';
    return {
      type: 'SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_FAILED',
      attributes: { initiatedEventId, workflowId, cause },
    };
  }

  #cancellationSent({
    seq,
    failure,
  }: coresdk.workflow_activation.IResolveRequestCancelExternalWorkflow): NewEvent | undefined {
    const pending = this.#take('cancel', seq);
    if (pending?.command.kind !== 'cancelExternal') return undefined;
    const { eventId: initiatedEventId, command } = pending;
    const { workflowId } = command;
    if (!failure) {
      const workflowExecution = { workflowId, runId: '' };
      return {
        type: 'EXTERNAL_WORKFLOW_EXECUTION_CANCEL_REQUESTED',
        attributes: { initiatedEventId, workflowExecution },
      };
    }
    return {
      type: 'REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_FAILED',
      attributes: { initiatedEventId, workflowId, cause: 'EXTERNAL_WORKFLOW_EXECUTION_NOT_FOUND' },
    };
  }

  #take(kind: Kind, seq: Seq): Pending | undefined {
    const key = `${kind}/${seq}`;
    const pending = this.#pending.get(key);
    this.#pending.delete(key);
    return pending;
  }
}

const COUNTED: ReadonlySet<Command['kind']> = new Set<Command['kind']>([
  'scheduleStep',
  'startTimer',
  'startChild',
]);

/** A step that timed out is tried as often as its policy allows; Temporal does not tell which attempt it was. */
function attemptsOf(command: Command): number {
  return command.kind === 'scheduleStep' ? Math.max(1, command.settings.retry.maximumAttempts) : 1;
}

function keyOfCommand(command: Command): string | undefined {
  switch (command.kind) {
    case 'scheduleStep':
      return `step/${command.activityId}`;
    case 'startTimer':
      return `timer/${command.timerId}`;
    case 'startChild':
      return `child/${command.childSeq}`;
    case 'signalExternal':
      return `signal/${command.signalSeq}`;
    case 'cancelExternal':
      // How the cancellation of a child went is told by how the child ends.
      return command.childSeq === undefined ? `cancel/${command.cancelSeq}` : undefined;
    default:
      return undefined;
  }
}

function started(
  job: coresdk.workflow_activation.IInitializeWorkflow,
  { attempt, parent }: Beginning,
): NewEvent {
  return {
    type: 'WORKFLOW_EXECUTION_STARTED',
    attributes: {
      workflowType: job.workflowType ?? '',
      workflowId: job.workflowId ?? '',
      catalog: '',
      input: fromPayloads({ payloads: job.arguments ?? [] }),
      attempt,
      firstExecutionRunId: job.firstExecutionRunId ?? '',
      originalExecutionRunId: '',
      ...(parent && { parent: { ...parent, initiatedEventId: 0, depth: 0 } }),
    },
  };
}
