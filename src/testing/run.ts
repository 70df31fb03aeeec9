/** One run in a test: what it was asked, told and called with, and what becomes of it. */

import type { BudgetState } from '../core/cost/budget.js';
import { amountProblem, amountText } from '../core/cost/cost.js';
import { RunSums } from '../core/cost/sums.js';
import { PerdureError } from '../core/errors.js';
import type { HistoryEvent } from '../core/history/event.js';
import type { Failure } from '../core/history/failure.js';
import { type NamedSteps, type WireEvent, wireEvent } from '../core/history/wire-event.js';
import { CALLBACK_SIGNAL, FEEDBACK_SIGNAL } from '../core/run/callback.js';
import type { Why } from '../core/run/why.js';
import { decodePayload, encodeArguments, type Payload } from '../core/values/json.js';
import type { EmbeddedEngine } from '../embedded/index.js';
import type { ResetPoint, RunOutcome, RunRef, RunSelector } from '../engine.js';
import { checkMessageName, type HandlerDeclarations } from '../sdk/definition.js';
import { errorOf, UsageError } from '../sdk/errors.js';
import { parse } from '../sdk/schema.js';
import type { LoadedWorkflows } from '../worker/loading/loader.js';
import { WorkflowFailedError, WorkflowStuckError } from './errors.js';
import { refuseUnknown } from './options.js';
import type { Pace } from './pace.js';
import type { Stage } from './stage.js';
import type { StepBook } from './step-book.js';
import type {
  CostOptions,
  Costs,
  FeedbackOptions,
  PauseOptions,
  StatusRecord,
  StepCall,
  StepLike,
  TestRun,
} from './types.js';

/** What a run in a test stands on. */
export interface RunContext {
  stage: Stage;
  pace: Pace;
  steps: StepBook;
  loaded: LoadedWorkflows;
}

/** Events read at a time. */
const PAGE = 1_000;

type UpdateAnswer = { value: Payload | undefined } | { error: unknown };
const RECORDED = Symbol('recorded');

type Kind = 'signal' | 'query' | 'update';
const DECLARED = { signal: 'signals', query: 'queries', update: 'updates' } as const;

/** As a handle of the client: it speaks to the latest run of its id, unless it is bound to one. */
export class Run implements TestRun {
  readonly workflowId: string;
  readonly runId: string;

  constructor(
    private readonly context: RunContext,
    { workflowId, runId }: RunRef,
    private readonly isBound = false,
  ) {
    this.workflowId = workflowId;
    this.runId = runId;
  }

  /** Whatever the workflow's type says that it is. */
  async result(): Promise<never> {
    const outcome = await this.context.pace.until(
      () => this.#outcome(),
      () => this.#stuck(),
      this.#stillness(),
    );
    if (outcome.status === 'completed') return decodePayload(outcome.output) as never;
    const { workflowType } = await this.status();
    const cause = errorOf(outcome.failure ?? UNKNOWN_FAILURE);
    throw new WorkflowFailedError({ ...outcome, workflowType }, outcome.status, cause);
  }

  async status(): Promise<StatusRecord> {
    const run = await this.#call((engine) => engine.describe(this.#selector));
    const { workflowId, runId, workflowType, catalog, status, startedAt, completedAt, historyLength } = run;
    const record = {
      workflowId,
      runId,
      workflowType,
      catalog,
      status,
      startedAt,
      completedAt,
      historyLength,
    };
    const { heldBack, paused } = run;
    return {
      ...record,
      ...(heldBack && { heldBack: { reason: heldBack.reason, since: isoTime(heldBack.since) } }),
      ...(paused && { paused: { ...paused, since: isoTime(paused.since) } }),
    };
  }

  async signal(signal: string | { name: string }, ...args: unknown[]): Promise<void> {
    const { name, input } = await this.#message('signal', signal, args);
    await this.#call((engine) => engine.signal({ workflowId: this.workflowId }, name, input));
    await this.context.pace.afterMessage();
  }

  async query(query: string | { name: string }, ...args: unknown[]): Promise<never> {
    const { name, input } = await this.#message('query', query, args);
    return decodePayload(
      await this.#call((engine) => engine.query({ workflowId: this.workflowId }, name, input)),
    ) as never;
  }

  async update(update: string | { name: string }, ...args: unknown[]): Promise<never> {
    const { name, input } = await this.#message('update', update, args);
    const { stage, pace } = this.context;
    const { updateId } = stage.newIds(name);
    let answer: UpdateAnswer | undefined;
    const asked = stage.runIdOf(this.workflowId) ?? this.runId;
    // An engine that was killed may have accepted it: then its outcome is in the history, or will be.
    const accepted = async (engine: EmbeddedEngine) =>
      (await this.#isAccepted(engine, updateId, asked)) ? RECORDED : undefined;
    const ask = async (engine: EmbeddedEngine): Promise<UpdateAnswer> => ({
      value: await engine.update({ workflowId: this.workflowId }, name, input),
    });
    void stage.callUnless<UpdateAnswer | typeof RECORDED>(accepted, ask, { updateId }).then(
      (given) => {
        if (given !== RECORDED) answer = given;
      },
      (error: unknown) => {
        answer = { error };
      },
    );
    const settled = await pace.until(
      async () => answer ?? (await this.#call((engine) => this.#updateOutcome(engine, updateId, asked))),
      () => this.#stuck(),
    );
    await pace.afterMessage();
    if ('error' in settled) throw settled.error;
    return decodePayload(settled.value) as never;
  }

  feedback(payload?: unknown, { callbackId }: FeedbackOptions = {}): Promise<void> {
    return callbackId === undefined
      ? this.signal(FEEDBACK_SIGNAL, payload)
      : this.signal(CALLBACK_SIGNAL, callbackId, payload);
  }

  async stop(): Promise<void> {
    try {
      await this.#call((engine) => engine.cancel(this.#selector));
    } catch (error) {
      if (!(error instanceof PerdureError && error.name === 'WorkflowAlreadyClosedError')) throw error;
    }
    await this.context.pace.afterMessage();
  }

  async terminate(reason = 'The workflow was terminated'): Promise<void> {
    await this.#call((engine) => engine.terminate(this.#selector, reason));
    await this.context.pace.afterMessage();
  }

  async pause({ reason, ...unknown }: PauseOptions = {}): Promise<void> {
    refuseUnknown('pause', Object.keys(unknown), ['reason']);
    await this.#call((engine) => engine.pause(this.#selector, { reason, by: 'operator' }));
    await this.context.pace.afterMessage();
  }

  async resume(): Promise<void> {
    await this.#call((engine) => engine.resume(this.#selector));
    await this.context.pace.afterMessage();
  }

  async reset(given: ResetPoint): Promise<Run> {
    const point = checkedPoint(given);
    const { stage, pace } = this.context;
    const { runId: newId } = stage.newIds('');
    const made = { workflowId: this.workflowId, runId: newId };
    const ref = await stage.callUnless<RunRef>(
      (engine) => engine.describe(made).catch(() => undefined),
      (engine) => engine.reset(this.#selector, point),
      { runId: newId },
    );
    await pace.afterMessage();
    return new Run(this.context, ref);
  }

  async history(): Promise<WireEvent[]> {
    const events = await this.#events();
    const steps: NamedSteps = new Map();
    for (const { id, type, attributes } of events) {
      if (type === 'ACTIVITY_TASK_SCHEDULED') steps.set(id, attributes);
    }
    return events.map((event) => wireEvent(event, { includePayloads: true, steps }));
  }

  calls(step: StepLike): StepCall[] {
    return this.context.steps.calls(this.workflowId, step);
  }

  why(): Promise<Why> {
    return this.#call((engine) => engine.why(this.#selector));
  }

  cost({ scope = 'run' }: CostOptions = {}): Promise<Costs> {
    return this.#call(async (engine) => {
      const sums = new RunSums();
      const records: Costs['records'] = [];
      const { budget } = await engine.cost(this.#selector, scope, (run) => {
        const { workflowId, runId } = run;
        sums.add(run);
        for (const record of run.records) {
          records.push({ ...record, at: isoTime(record.at), workflowId, runId });
        }
      });
      const { totals, usage, bySteps } = sums;
      return { totals, usage, bySteps, records, budget };
    });
  }

  async setBudget(amount: number | string): Promise<BudgetState> {
    const text = budgetAmount(amount);
    const { budget } = await this.#call((engine) => engine.setBudget(this.#selector, text));
    await this.context.pace.afterMessage();
    return budget;
  }

  /** The run that is spoken to. */
  get #selector(): RunSelector {
    const { workflowId, runId } = this;
    return this.isBound ? { workflowId, runId } : { workflowId };
  }

  #call<T>(action: (engine: EmbeddedEngine) => Promise<T>): Promise<T> {
    return this.context.stage.call(action);
  }

  /** The outcome, if there is one. @throws WorkflowStuckError when the code does not fit the history */
  async #outcome(): Promise<RunOutcome | undefined> {
    const outcome = await this.#call((engine) => engine.outcome(this.#selector, { followChain: true }));
    if (outcome) return outcome;
    for (const [runId, { workflowId, message }] of this.context.stage.turnFailures) {
      if (!(await this.#isOwn({ workflowId, runId }))) continue;
      const { heldBack, workflowType } = await this.#call((engine) => engine.describe({ workflowId, runId }));
      // The same code is all there is, so another try would end the same way.
      if (heldBack)
        throw new WorkflowStuckError(
          { workflowType, workflowId, runId },
          `its code failed, or does not fit its history: ${message}`,
        );
    }
    return undefined;
  }

  /** Asks whether the run waits for somebody to act, and nothing has happened to it since this was asked before. */
  #stillness(): () => Promise<boolean> {
    let before: string | undefined;
    return async () => {
      // Also of a bound run it is those that continue it that get on.
      const { runId, historyLength } = await this.#call((engine) =>
        engine.describe({ workflowId: this.workflowId }),
      );
      const now = `${runId}/${historyLength}`;
      const wasStill = now === before;
      before = now;
      return wasStill && (await this.#call((engine) => engine.why({ workflowId: this.workflowId }))).isStuck;
    };
  }

  /** Whether it is a run of this workflow, or of a descendant of it. */
  async #isOwn(run: { workflowId: string; runId: string }): Promise<boolean> {
    for (let at = run; ; ) {
      if (at.workflowId === this.workflowId) return true;
      const ref = at;
      const [first] = (await this.#call((engine) => engine.history(ref, { afterEventId: 0, limit: 1 })))
        .events;
      if (first?.type !== 'WORKFLOW_EXECUTION_STARTED' || !first.attributes.parent) return false;
      at = first.attributes.parent;
    }
  }

  async #stuck(): Promise<never> {
    const { workflowId } = this;
    const { workflowType, runId } = await this.#call((engine) => engine.describe({ workflowId }));
    const why = await this.#call((engine) => engine.why({ workflowId }));
    throw new WorkflowStuckError({ workflowId, runId, workflowType }, await this.#inDepth(why));
  }

  /** What a run waits for that waits for its child is what that child waits for. */
  async #inDepth({ summary, reasons }: Why): Promise<string> {
    const child = reasons.find((reason) => reason.code === 'child');
    if (!child) return summary;
    const { workflowId } = child.stuckAt ?? child;
    const below = await this.#call((engine) => engine.why({ workflowId }));
    return `${summary} ${workflowId}: ${await this.#inDepth(below)}`;
  }

  /** The name and arguments of a message, held against what the workflow declares. @throws ValidationError */
  async #message(
    kind: Kind,
    message: string | { name: string },
    args: unknown[],
  ): Promise<{ name: string; input: Payload[] }> {
    const name = typeof message === 'string' ? message : message?.name;
    checkMessageName(kind, name);
    const { workflowType } = await this.#call((engine) => engine.describe({ workflowId: this.workflowId }));
    const declared = this.context.loaded.definitions.get(workflowType)?.[DECLARED[kind]] as
      | HandlerDeclarations
      | undefined;
    const whose = `payload of ${kind} "${name}" of workflow "${workflowType}"`;
    await parse(declared?.[name]?.inputSchema, args[0], whose);
    return { name, input: encodeArguments(args, `payload of ${kind} "${name}"`) };
  }

  async #isAccepted(engine: EmbeddedEngine, updateId: string, sinceRunId: string): Promise<boolean> {
    for await (const { type, attributes } of this.#eventsSince(engine, sinceRunId)) {
      if (type === 'WORKFLOW_EXECUTION_UPDATE_ACCEPTED' && attributes.updateId === updateId) return true;
    }
    return false;
  }

  async #updateOutcome(
    engine: EmbeddedEngine,
    updateId: string,
    sinceRunId: string,
  ): Promise<UpdateAnswer | undefined> {
    for await (const { type, attributes } of this.#eventsSince(engine, sinceRunId)) {
      if (type !== 'WORKFLOW_EXECUTION_UPDATE_COMPLETED' || attributes.updateId !== updateId) continue;
      const { failure, result } = attributes;
      return failure
        ? { error: new PerdureError('UpdateFailedError', failure.message, this.#selector) }
        : { value: result };
    }
    return undefined;
  }

  #events(): Promise<HistoryEvent[]> {
    return this.#call((engine) => eventsOf(engine, this.#selector));
  }

  /** Those of a run, and of all that have taken its place. */
  async *#eventsSince(engine: EmbeddedEngine, firstRunId: string): AsyncGenerator<HistoryEvent, void, void> {
    for (let runId: string | undefined = firstRunId; runId !== undefined; ) {
      const events: HistoryEvent[] = await eventsOf(engine, { workflowId: this.workflowId, runId });
      yield* events;
      runId = (events.at(-1)!.attributes as { newExecutionRunId?: string }).newExecutionRunId;
    }
  }
}

async function eventsOf(engine: EmbeddedEngine, run: RunSelector): Promise<HistoryEvent[]> {
  const events: HistoryEvent[] = [];
  for (;;) {
    const page = await engine.history(run, { afterEventId: events.length, limit: PAGE });
    events.push(...page.events);
    if (page.events.length < PAGE) return events;
  }
}

/** @throws UsageError for what the API refuses as well */
function checkedPoint(given: ResetPoint): ResetPoint {
  const { stepName, toStart, occurrence, reason, ...unknown } = given ?? {};
  refuseUnknown('reset', Object.keys(unknown), ['stepName', 'occurrence', 'toStart', 'reason']);
  const isStep = typeof stepName === 'string' && stepName !== '';
  if (isStep === (toStart === true)) {
    throw new UsageError(
      'reset() needs a point: either stepName, of a step that has completed, or toStart: true',
    );
  }
  if (!isStep) {
    if (occurrence === undefined) return { toStart: true, reason };
    throw new UsageError('reset() takes occurrence only with stepName');
  }
  if (occurrence !== undefined && !(Number.isSafeInteger(occurrence) && occurrence >= 1)) {
    throw new UsageError(
      `reset() counts the occurrence of a step from 1, and it is ${JSON.stringify(occurrence)}`,
    );
  }
  return { stepName, occurrence, reason };
}

/** @throws UsageError */
export function budgetAmount(amount: number | string): string {
  const problem = amountProblem(amount);
  if (problem !== undefined) throw new UsageError(`the amount of a budget ${problem}`);
  return amountText(amount);
}

const isoTime = (at: number): string => new Date(at).toISOString();

const UNKNOWN_FAILURE: Failure = { kind: 'application', type: 'Error', message: 'no reason given' };
