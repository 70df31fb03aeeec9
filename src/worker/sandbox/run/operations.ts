/**
 * What a run waits for outside itself: steps, timers, children, messages to other workflows.
 *
 * 1. Every operation has a number of its kind, counted by the run, so replay gives the same ones.
 * 2. An operation is settled at most once. Cancelling it in the turn that started it takes its command back.
 * 3. Once the event that ends an operation is in the history, cancelling it asks for nothing.
 */
import type { Command } from '../../../core/history/command.js';
import type { CancellationType, HistoryEvent } from '../../../core/history/event.js';
import { encodeArguments, encodePayload, type Payload } from '../../../core/values/json.js';
import type { Cancel, ChildRequest, Settle, StepRequest } from '../../../sdk/runtime.js';
import type { TurnCommands } from './commands.js';
import { settleBy } from './resolution.js';

export interface Operation {
  readonly command: Command;
  readonly turn: number;
  readonly settle: Settle<unknown>;
  /** The waiting code has its answer. */
  settled: boolean;
  /** The event that ends it is in the history. */
  ended: boolean;
  cancelRequested: boolean;
}

export class Operations {
  readonly #commands: TurnCommands;
  readonly #counters = { step: 0, timer: 0, child: 0, signal: 0, cancel: 0 };
  /** Until their command is recorded. */
  readonly #unrecorded = new Map<Command, Operation>();
  /** By the event that recorded their command; timers by their id, which their events carry. */
  readonly #byEvent = new Map<number, Operation>();
  readonly #timers = new Map<string, Operation>();

  readonly #workflowType: string;

  constructor(workflowType: string, commands: TurnCommands) {
    this.#workflowType = workflowType;
    this.#commands = commands;
  }

  scheduleStep(request: StepRequest, settle: Settle<unknown>): Cancel {
    const { name, settings, cancellationType } = request;
    const input = payloads(request.input, `input of step "${name}"`);
    const activityId = String(++this.#counters.step);
    const operation = this.#start(
      { kind: 'scheduleStep', activityId, stepName: name, input, settings },
      settle,
    );
    return (cancellation) => this.#cancelStep(operation, activityId, cancellationType, cancellation);
  }

  startTimer(durationMs: number, settle: Settle<void>): Cancel {
    const timerId = String(++this.#counters.timer);
    const operation = this.#start({ kind: 'startTimer', timerId, durationMs }, settle as Settle<unknown>);
    this.#timers.set(timerId, operation);
    return (cancellation) => {
      if (operation.settled) return;
      if (this.#takeBack(operation)) this.#timers.delete(timerId);
      else if (!operation.ended) {
        this.#timers.delete(timerId);
        this.#commands.add({ kind: 'cancelTimer', timerId });
      }
      reject(operation, cancellation);
    };
  }

  startChild(request: ChildRequest & { workflowId: string }, settle: Settle<unknown>): Cancel {
    const { workflowType, workflowId, catalog, detached } = request;
    const input = payloads(request.input, `input of workflow "${workflowType}"`);
    const childSeq = String(++this.#counters.child);
    const parentClosePolicy = detached ? 'ABANDON' : 'REQUEST_CANCEL';
    const operation = this.#start(
      { kind: 'startChild', childSeq, workflowId, workflowType, catalog, input, parentClosePolicy },
      settle,
    );
    return (cancellation) => {
      if (operation.settled || operation.ended) return;
      if (this.#takeBack(operation) || detached) {
        reject(operation, cancellation);
      } else if (!operation.cancelRequested) {
        // The child may clean up first: the caller waits for how it ends.
        operation.cancelRequested = true;
        this.cancelExternal(workflowId, NOBODY, childSeq);
      }
    };
  }

  signalExternal(workflowId: string, signalName: string, args: unknown[], settle: Settle<void>): Cancel {
    const input = encodeArguments(args, `argument of signal "${signalName}"`);
    const signalSeq = String(++this.#counters.signal);
    const operation = this.#start(
      { kind: 'signalExternal', signalSeq, workflowId, signalName, input },
      settle as Settle<unknown>,
    );
    return (cancellation) => {
      if (!operation.settled && this.#takeBack(operation)) reject(operation, cancellation);
    };
  }

  cancelExternal(workflowId: string, settle: Settle<void>, childSeq?: string): void {
    const cancelSeq = String(++this.#counters.cancel);
    this.#start(
      { kind: 'cancelExternal', cancelSeq, workflowId, ...(childSeq !== undefined && { childSeq }) },
      settle as Settle<unknown>,
    );
  }

  /** Event `eventId` is the record of `command`. */
  recorded(command: Command, eventId: number): void {
    const operation = this.#unrecorded.get(command);
    if (!operation) return;
    this.#unrecorded.delete(command);
    if (command.kind !== 'startTimer') this.#byEvent.set(eventId, operation);
  }

  activityId(scheduledEventId: number): string | undefined {
    const command = this.#byEvent.get(scheduledEventId)?.command;
    return command?.kind === 'scheduleStep' ? command.activityId : undefined;
  }

  /** Notes that `event`, which is delivered later in this turn, ends an operation. */
  foresee(event: HistoryEvent): void {
    const operation = this.#endedBy(event);
    if (operation) operation.ended = true;
  }

  /** Delivers `event` to the operation it ends. Answers false for events that end none. */
  deliver(event: HistoryEvent): boolean {
    const operation = this.#endedBy(event);
    if (!operation) return false;
    if (event.type === 'TIMER_FIRED') this.#timers.delete(event.attributes.timerId);
    else this.#byEvent.delete(endedEventId(event)!);
    if (!operation.settled) {
      operation.settled = true;
      settleBy(event, operation.command, this.#workflowType, operation.settle);
    }
    return true;
  }

  #endedBy(event: HistoryEvent): Operation | undefined {
    if (event.type === 'TIMER_FIRED') return this.#timers.get(event.attributes.timerId);
    const id = endedEventId(event);
    return id === undefined ? undefined : this.#byEvent.get(id);
  }

  #start(command: Command, settle: Settle<unknown>): Operation {
    const operation: Operation = {
      command,
      turn: this.#commands.turn,
      settle,
      settled: false,
      ended: false,
      cancelRequested: false,
    };
    this.#commands.add(command);
    this.#unrecorded.set(command, operation);
    return operation;
  }

  /** Whether the operation's command could still be taken back, which is done then. */
  #takeBack(operation: Operation): boolean {
    if (operation.turn !== this.#commands.turn) return false;
    this.#commands.retract(operation.command);
    this.#unrecorded.delete(operation.command);
    return true;
  }

  #cancelStep(
    operation: Operation,
    activityId: string,
    type: CancellationType,
    cancellation: Parameters<Cancel>[0],
  ): void {
    if (operation.settled || operation.ended) return;
    if (this.#takeBack(operation) || type === 'ABANDON') {
      reject(operation, cancellation);
      return;
    }
    if (!operation.cancelRequested) {
      operation.cancelRequested = true;
      this.#commands.add({ kind: 'cancelStep', activityId });
    }
    if (type === 'TRY_CANCEL') reject(operation, cancellation);
  }
}

const NOBODY: Settle<void> = { resolve() {}, reject() {} };

function reject(operation: Operation, error: unknown): void {
  operation.settled = true;
  operation.settle.reject(error);
}

function payloads(value: unknown, label: string): Payload[] {
  const payload = encodePayload(value, label);
  return payload === undefined ? [] : [payload];
}

/** The event that recorded the command of the operation which `event` ends. */
function endedEventId(event: HistoryEvent): number | undefined {
  switch (event.type) {
    case 'ACTIVITY_TASK_COMPLETED':
    case 'ACTIVITY_TASK_FAILED':
    case 'ACTIVITY_TASK_TIMED_OUT':
    case 'ACTIVITY_TASK_CANCELED':
      return event.attributes.scheduledEventId;
    case 'START_CHILD_WORKFLOW_EXECUTION_FAILED':
    case 'CHILD_WORKFLOW_EXECUTION_COMPLETED':
    case 'CHILD_WORKFLOW_EXECUTION_FAILED':
    case 'CHILD_WORKFLOW_EXECUTION_CANCELED':
    case 'CHILD_WORKFLOW_EXECUTION_TIMED_OUT':
    case 'CHILD_WORKFLOW_EXECUTION_TERMINATED':
    case 'SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_FAILED':
    case 'EXTERNAL_WORKFLOW_EXECUTION_SIGNALED':
    case 'REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_FAILED':
    case 'EXTERNAL_WORKFLOW_EXECUTION_CANCEL_REQUESTED':
      return event.attributes.initiatedEventId;
    default:
      return undefined;
  }
}
