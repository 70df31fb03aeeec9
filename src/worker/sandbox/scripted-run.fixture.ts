/**
 * A hand-driven engine for tests of the sandbox: the test says what happens, this writes the history.
 *
 * Every turn runs twice: on the run that the sandbox kept, and from event 1 in a sandbox that keeps nothing. The two
 * must give the same, so each test is a test of replay as well.
 */
import { expect } from 'vitest';
import type { Command } from '../../core/history/command.js';
import type { EventAttributes, EventTypeName, HistoryEvent } from '../../core/history/event.js';
import type { Failure } from '../../core/history/failure.js';
import { type Log, silentLog } from '../../core/log.js';
import type { QueryAnswer, TurnTask, UpdateRequest } from '../../core/task.js';
import type * as Sdk from '../../sdk/index.js';
import type { Step, StepOptions } from '../../sdk/index.js';
import type { WorkflowBundle } from '../loading/bundle.js';
import { createSandbox, type Sandbox } from './host.js';

type StepMaker = (name: string, options?: StepOptions) => Step<unknown, never>;
/** Written in the test, evaluated inside the sandbox: it must use nothing but its arguments. */
export type Source = (sdk: typeof Sdk, step: StepMaker) => unknown;

export function bundleOf(source: Source, stateless = false, workflowType = 'test'): WorkflowBundle {
  const code = `"use strict";
const step = (name, options) => require('perdure/internal').stepReference({ name, options });
exports.default = (${source.toString()})(require('perdure'), step);`;
  return { workflowType, filename: `${workflowType}/workflow.ts`, exportName: 'default', code, stateless };
}

export interface TurnOptions {
  updates?: UpdateRequest[];
  queries?: { name: string; args?: unknown[] }[];
  continueAsNewSuggested?: boolean;
  readOnly?: boolean;
}

export const RUN_ID = '01890000-0000-7000-8000-000000000001';

export class ScriptedRun {
  readonly history: HistoryEvent[] = [];
  /** What the workflow logged, replays left out. */
  readonly logged: { level: string; message: string; fields: object }[] = [];
  now = 1_700_000_000_000;
  #sent = 0;
  #turnId = 0;
  #bundle: WorkflowBundle;
  #kept: Sandbox;
  #keepsNothing: Sandbox;

  constructor(source: Source | WorkflowBundle, { stateless = false } = {}) {
    this.#bundle = typeof source === 'function' ? bundleOf(source, stateless) : source;
    this.#kept = this.#sandbox(100, this.#log());
    this.#keepsNothing = this.#sandbox(0, silentLog);
  }

  /** Goes on with other code, as after a deployment. */
  deploy(source: Source): void {
    this.#bundle = bundleOf(source);
    this.#keepsNothing = this.#sandbox(0, silentLog);
    this.forgetCache();
  }

  forgetCache(): void {
    this.#kept = this.#sandbox(100, this.#log());
    this.#sent = 0;
  }

  append<T extends EventTypeName>(type: T, attributes: EventAttributes[T]): HistoryEvent {
    const event = { id: this.history.length + 1, at: this.now, type, attributes } as unknown as HistoryEvent;
    this.history.push(event);
    return event;
  }

  start(input?: unknown, more: Partial<EventAttributes['WORKFLOW_EXECUTION_STARTED']> = {}): this {
    this.append('WORKFLOW_EXECUTION_STARTED', {
      workflowType: 'test',
      workflowId: 'test-1',
      catalog: 'default',
      input: input === undefined ? [] : [JSON.stringify(input)],
      attempt: 1,
      firstExecutionRunId: RUN_ID,
      originalExecutionRunId: RUN_ID,
      ...more,
    });
    return this;
  }

  signal(signalName: string, ...args: unknown[]): this {
    this.append('WORKFLOW_EXECUTION_SIGNALED', { signalName, input: args.map((arg) => JSON.stringify(arg)) });
    return this;
  }

  cancel(): this {
    this.append('WORKFLOW_EXECUTION_CANCEL_REQUESTED', { cause: 'test' });
    return this;
  }

  completeStep(activityId: string, result?: unknown): this {
    const ids = this.#startStep(activityId);
    this.append('ACTIVITY_TASK_COMPLETED', { ...ids, result: JSON.stringify(result) });
    return this;
  }

  failStep(activityId: string, failure: Partial<Failure> = {}): this {
    const ids = this.#startStep(activityId);
    this.append('ACTIVITY_TASK_FAILED', {
      ...ids,
      failure: { kind: 'application', type: 'Error', message: 'failed', attempt: 3, ...failure },
      retryState: 'MAXIMUM_ATTEMPTS_REACHED',
    });
    return this;
  }

  cancelledStep(activityId: string): this {
    const ids = this.#startStep(activityId);
    this.append('ACTIVITY_TASK_CANCELED', { ...ids, latestCancelRequestedEventId: this.history.length });
    return this;
  }

  fireTimer(timerId: string): this {
    const started = this.find('TIMER_STARTED', (a) => a.timerId === timerId);
    this.now += 60_000;
    this.append('TIMER_FIRED', { timerId, startedEventId: started.id });
    return this;
  }

  child(childSeq: string) {
    const initiated = this.find('START_CHILD_WORKFLOW_EXECUTION_INITIATED', (a) => a.childSeq === childSeq);
    const { workflowId, workflowType } = initiated.attributes;
    const workflowExecution = { workflowId, runId: 'child-run' };
    return { initiatedEventId: initiated.id, startedEventId: 0, workflowExecution, workflowType };
  }

  find<T extends EventTypeName>(type: T, fits: (attributes: EventAttributes[T]) => boolean = () => true) {
    const found = this.history.find(
      (event) => event.type === type && fits(event.attributes as EventAttributes[T]),
    );
    if (!found) throw new Error(`no ${type} in the history`);
    return found as HistoryEvent & { attributes: EventAttributes[T] };
  }

  /** Runs a turn, records it, and gives its commands. */
  turn(options: TurnOptions = {}): Command[] {
    const { commands } = this.turnAndAnswers(options);
    return commands;
  }

  turnAndAnswers(options: TurnOptions = {}): { commands: Command[]; answers: QueryAnswer[] } {
    if (!options.readOnly) this.append('WORKFLOW_TASK_SCHEDULED', { attempt: 1 });
    const scheduledEventId = this.history.length;
    const answer = this.attempt(options);
    if (answer.kind !== 'turnCompleted') throw new Error(`${answer.kind}: ${JSON.stringify(answer)}`);
    if (!options.readOnly) {
      const suggestContinueAsNew = options.continueAsNewSuggested;
      this.append('WORKFLOW_TASK_STARTED', { scheduledEventId, suggestContinueAsNew });
      this.append('WORKFLOW_TASK_COMPLETED', { scheduledEventId, startedEventId: scheduledEventId + 1 });
      for (const command of answer.commands) this.#record(command, options.updates ?? []);
    }
    return { commands: answer.commands, answers: answer.answers };
  }

  /** Runs a turn without recording it; both ways of running it must agree. */
  attempt(options: TurnOptions = {}) {
    const task = this.task(options);
    let kept = this.#kept.runTurn(task);
    if (kept.kind === 'turnMissed') kept = this.#kept.runTurn({ ...task, events: this.history });
    this.#sent = this.history.length;
    const replayed = this.#keepsNothing.runTurn({ ...task, events: this.history });
    expect(plain(replayed)).toEqual(plain(kept));
    return plain(kept);
  }

  task(options: TurnOptions = {}): TurnTask {
    return {
      kind: 'turn',
      turnId: ++this.#turnId,
      runId: RUN_ID,
      workflowId: 'test-1',
      workflowType: 'test',
      catalog: 'default',
      startedAt: this.now,
      events: this.history.slice(this.#sent),
      historyLength: this.history.length,
      continueAsNewSuggested: options.continueAsNewSuggested ?? false,
      updates: options.updates ?? [],
      queries: (options.queries ?? []).map(({ name, args = [] }, at) => ({
        queryId: at,
        name,
        input: args.map((arg) => JSON.stringify(arg)),
      })),
      readOnly: options.readOnly ?? false,
    };
  }

  #record(command: Command, updates: UpdateRequest[]): void {
    switch (command.kind) {
      case 'scheduleStep':
        this.append('ACTIVITY_TASK_SCHEDULED', { ...command, activityType: `test#${command.stepName}` });
        break;
      case 'cancelStep': {
        const { id } = this.find('ACTIVITY_TASK_SCHEDULED', (a) => a.activityId === command.activityId);
        this.append('ACTIVITY_TASK_CANCEL_REQUESTED', { scheduledEventId: id });
        break;
      }
      case 'startTimer':
        this.append('TIMER_STARTED', { timerId: command.timerId, startToFireTimeoutMs: command.durationMs });
        break;
      case 'cancelTimer': {
        const { id } = this.find('TIMER_STARTED', (a) => a.timerId === command.timerId);
        this.append('TIMER_CANCELED', { timerId: command.timerId, startedEventId: id });
        break;
      }
      case 'recordPatch': {
        const { patchId, deprecated } = command;
        this.append('MARKER_RECORDED', { markerName: 'core_patch', details: { patchId, deprecated } });
        break;
      }
      case 'startChild':
        this.append('START_CHILD_WORKFLOW_EXECUTION_INITIATED', {
          ...command,
          catalog: command.catalog ?? 'default',
        });
        break;
      case 'signalExternal':
        this.append('SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED', command);
        break;
      case 'cancelExternal':
        this.append('REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED', command);
        break;
      case 'acceptUpdate': {
        const { updateId, name, input } = updates.find((update) => update.updateId === command.updateId)!;
        this.append('WORKFLOW_EXECUTION_UPDATE_ACCEPTED', { updateId, updateName: name, input });
        break;
      }
      case 'rejectUpdate':
        break;
      case 'completeUpdate': {
        const { id } = this.find(
          'WORKFLOW_EXECUTION_UPDATE_ACCEPTED',
          (a) => a.updateId === command.updateId,
        );
        this.append('WORKFLOW_EXECUTION_UPDATE_COMPLETED', { ...command, acceptedEventId: id });
        break;
      }
      case 'completeRun':
        this.append('WORKFLOW_EXECUTION_COMPLETED', { result: command.result });
        break;
      case 'failRun':
        this.append('WORKFLOW_EXECUTION_FAILED', { failure: command.failure });
        break;
      case 'cancelRun':
        this.append('WORKFLOW_EXECUTION_CANCELED', {});
        break;
      case 'continueAsNew':
        this.append('WORKFLOW_EXECUTION_CONTINUED_AS_NEW', { ...command, newExecutionRunId: 'next' });
        break;
    }
  }

  #startStep(activityId: string): { scheduledEventId: number; startedEventId: number } {
    const { id } = this.find('ACTIVITY_TASK_SCHEDULED', (a) => a.activityId === activityId);
    const started = this.append('ACTIVITY_TASK_STARTED', { scheduledEventId: id, attempt: 1 });
    return { scheduledEventId: id, startedEventId: started.id };
  }

  #sandbox(cacheSize: number, log: Log): Sandbox {
    return createSandbox({
      ...{ workflows: [this.#bundle], cacheSize, log },
      callbackUrl: ({ workflowId, callbackId, isChecked }) =>
        `https://outside.test/${workflowId}/${callbackId}${isChecked ? '/checked' : ''}`,
    });
  }

  #log(): Log {
    const at = (level: string) => (fields: object, message: string) => {
      this.logged.push({ level, message, fields });
    };
    return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
  }
}

/** Objects of the sandbox have other prototypes; as data they are the same. Stacks differ from replay to replay. */
export function plain<T>(value: T): T {
  return JSON.parse(JSON.stringify(value, (key, part) => (key === 'stackTrace' ? undefined : part))) as T;
}
