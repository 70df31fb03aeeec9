/**
 * Runs the turns of one run inside Temporal's sandbox: Temporal's core drives, the embedded engine's own `Run` executes.
 *
 * Temporal hands over a turn (`activate`) and takes its commands (`concludeActivation`), and in between asks for as
 * long as something happens whether a condition holds; whenever it has asked, all promise jobs run. So the pieces of a
 * turn are executed by a condition that is asked: one each time, until none is left. That way code sees the same order
 * of things on both engines.
 *
 * 1. Nothing of Temporal's own workflow API runs here but its bookkeeping: what it has asked of it, such as which
 *    patches are in the history, and its answers to its own queries.
 * 2. One turn runs at a time in a sandbox, and between `activate` and `concludeActivation` nothing else does.
 */

import type { coresdk } from '@temporalio/proto';
import type {
  ActivateInput,
  ConcludeActivationInput,
  ConcludeActivationOutput,
  Next,
  WorkflowInternalsInterceptor,
} from '@temporalio/workflow';
import type { Activator } from '@temporalio/workflow/lib/internals.js';
import { type CloseCommand, type Command, isCloseCommand } from '../../core/command.js';
import type { ClosedStatus } from '../../core/run.js';
import type { QueryAnswer } from '../../core/task.js';
import { brokenLimit } from '../../core/turn-limits.js';
import type { Update } from '../../worker/sandbox/handlers.js';
import type { Pieces, Run, TurnInput } from '../../worker/sandbox/run.js';
import { CURRENT_PAYLOAD_VERSION, DEPTH_HEADER, MEMO } from '../conventions.js';
import { failureToProto } from '../translate/failure.js';
import { decoded, fromPayloads, toPayload } from '../translate/payload.js';
import { type RunFrame, toCore } from './commands.js';
import { IncomingEvents } from './events.js';
import type { Sandbox } from './sandbox.js';

type Job = coresdk.workflow_activation.IWorkflowActivationJob;
type CoreCommand = coresdk.workflow_commands.IWorkflowCommand;

/** Conditions of Temporal's own API are numbered from 1. */
const OUR_CONDITION = 0;

/** By Temporal's name; the run has it under a name of its own. */
const METADATA_QUERY = { theirs: '__temporal_workflow_metadata', ours: '__workflow_metadata' };

/** Those that Temporal answers by itself, for its own tools. */
const isTemporals = (queryType: string): boolean =>
  /^__(temporal_|stack_trace$|enhanced_stack_trace$)/.test(queryType) && queryType !== METADATA_QUERY.theirs;

/** How a run closes by a command. */
const ENDS: Partial<Record<Command['kind'], ClosedStatus>> = {
  completeRun: 'completed',
  failRun: 'failed',
  cancelRun: 'cancelled',
  continueAsNew: 'continued_as_new',
};

export class RunTurns implements WorkflowInternalsInterceptor {
  readonly #run: Run;
  readonly #frame: RunFrame;
  readonly #events: IncomingEvents;
  readonly #updateInstances = new Map<string, string>();
  #seed: number[] | undefined;
  #pieces: Pieces<void> | undefined;
  #commands: CoreCommand[] = [];
  /** Held back until what the run has asked of others has reached them, since the cluster drops it otherwise. */
  #closing: CloseCommand | undefined;

  constructor(
    private readonly activator: Activator,
    private readonly sandbox: Sandbox,
  ) {
    const { info } = activator;
    const { workflowType, taskQueue: catalog } = info;
    const { settings } = sandbox;
    this.#run = sandbox.newRun({ workflowId: info.workflowId, runId: info.runId, workflowType, catalog });
    this.#events = new IncomingEvents(workflowType, settings.livenessMs);
    this.#frame = {
      runId: info.runId,
      namespace: info.namespace,
      catalog,
      workflowType,
      depth: 0,
      format: settings.resultFormat,
      formatIsRecorded: false,
      settings,
      updateInstance: (updateId) => this.#updateInstances.get(updateId) ?? updateId,
      isChildStarted: (childSeq) => this.#events.isChildStarted(childSeq),
    };
  }

  activate(input: ActivateInput, next: Next<WorkflowInternalsInterceptor, 'activate'>): void {
    const jobs = input.activation.jobs ?? [];
    this.sandbox.beginTurn(this.#run);
    if (jobs[0]?.queryWorkflow) {
      const theirs = jobs.filter(({ queryWorkflow }) => isTemporals(queryWorkflow?.queryType ?? ''));
      if (theirs.length > 0) next({ ...input, activation: { ...input.activation, jobs: theirs } });
      this.#pieces = this.#answer(jobs.filter((job) => !theirs.includes(job)));
    } else {
      this.#pieces = this.#turn(this.#inputOf(jobs));
    }
    this.#nextPiece();
    this.#listen();
  }

  concludeActivation(
    input: ConcludeActivationInput,
    next: Next<WorkflowInternalsInterceptor, 'concludeActivation'>,
  ): ConcludeActivationOutput {
    // Of queries Temporal lets promise jobs run only once; what would follow from more of them changes nothing.
    while (this.#nextPiece());
    this.sandbox.endTurn();
    const commands = this.#commands;
    this.#commands = [];
    return { commands: [...next(input).commands, ...commands] };
  }

  /** Whether there was one. */
  #nextPiece(): boolean {
    if (!this.#pieces) return false;
    if (this.#pieces.next().done) this.#pieces = undefined;
    this.sandbox.beforeJobs();
    return true;
  }

  /** Temporal forgets a condition once it has held, and must not ask again before promise jobs have run. */
  #listen(): void {
    this.activator.blockedConditions.set(OUR_CONDITION, {
      fn: () => this.#nextPiece(),
      resolve: () => void Promise.resolve().then(() => this.#listen()),
    });
  }

  *#turn(input: TurnInput): Pieces<void> {
    const asked = this.#closing ? [] : this.#withinLimits(yield* this.#run.activate(input));
    for (const command of asked) {
      if (isCloseCommand(command)) this.#closing = command;
      else this.#ask(command);
    }
    if (this.#closing && !this.#events.isOnItsWay) this.#ask(this.#closing);
  }

  #ask(command: Command): void {
    this.#run.recorded(command, this.#events.record(command));
    this.#commands.push(...toCore(command, this.#frame));
    const end = ENDS[command.kind];
    if (end && this.#frame.traces !== undefined) this.sandbox.closing(end);
    if (command.kind === 'completeUpdate' || command.kind === 'rejectUpdate') {
      this.#updateInstances.delete(command.updateId);
    }
  }

  #withinLimits(commands: Command[]): Command[] {
    const extent = { pending: this.#events.pending, depth: this.#frame.depth };
    const message = brokenLimit(extent, commands, this.sandbox.settings.limits);
    if (message === undefined) return commands;
    return [
      {
        kind: 'failRun',
        failure: { kind: 'application', type: 'LimitExceededError', message, nonRetryable: true },
      },
    ];
  }

  #inputOf(jobs: readonly Job[]): TurnInput {
    const { info, now, randomnessSeed } = this.activator;
    const start = jobs.find(({ initializeWorkflow }) => initializeWorkflow)?.initializeWorkflow;
    if (start) this.#learn(start);
    const reseed = randomnessSeed === this.#seed ? undefined : randomnessSeed.join();
    this.#seed = randomnessSeed;
    const { parent, attempt } = info;
    return {
      now,
      // Core counts the event that says that this turn has started.
      historyLength: info.historyLength - 1,
      continueAsNewSuggested: info.continueAsNewSuggested,
      replaying: info.unsafe.isReplaying,
      incoming: this.#events.read(jobs, {
        startedAt: info.startTime.getTime(),
        attempt,
        parent: parent && { workflowId: parent.workflowId, runId: parent.runId },
      }),
      updates: jobs.flatMap(({ doUpdate }) => (doUpdate ? [this.#updateOf(doUpdate)] : [])),
      // biome-ignore lint/complexity/useLiteralKeys: Temporal has it as private, and there is no other way to ask for all of them
      patches: [...this.activator['knownPresentPatches']],
      reseed,
    };
  }

  /** What only the first job says. */
  #learn(start: coresdk.workflow_activation.IInitializeWorkflow): void {
    this.#frame.depth = Number(decoded(start.headers?.[DEPTH_HEADER]) ?? 0);
    const traces = decoded(start.memo?.fields?.[MEMO.traces]);
    if (traces === 'all' || traces === 'failed') this.#frame.traces = traces;
    const version = start.memo?.fields?.[MEMO.payloadVersion];
    if (!version) return;
    this.#frame.formatIsRecorded = true;
    this.#frame.format = decoded(version) === CURRENT_PAYLOAD_VERSION ? 'current' : 'legacy';
  }

  #updateOf({
    id,
    name,
    protocolInstanceId,
    input,
    runValidator,
  }: coresdk.workflow_activation.IDoUpdate): Update {
    const updateId = id ?? '';
    this.#updateInstances.set(updateId, protocolInstanceId ?? '');
    return {
      updateId,
      name: name ?? '',
      input: fromPayloads({ payloads: input ?? [] }),
      accepted: runValidator !== true,
    };
  }

  *#answer(jobs: readonly Job[]): Pieces<void> {
    const ids: string[] = [];
    const requests = jobs.flatMap(({ queryWorkflow }) => {
      if (!queryWorkflow) return [];
      const { queryId, queryType, arguments: args } = queryWorkflow;
      const name = queryType === METADATA_QUERY.theirs ? METADATA_QUERY.ours : (queryType ?? '');
      ids.push(queryId ?? '');
      return [{ queryId: ids.length - 1, name, input: fromPayloads({ payloads: args ?? [] }) }];
    });
    for (const answer of yield* this.#run.answer(requests)) {
      this.#commands.push({
        respondToQuery: { queryId: ids[answer.queryId], ...responseOf(answer, requests) },
      });
    }
  }
}

function responseOf(
  answer: QueryAnswer,
  requests: readonly { name: string }[],
): Omit<coresdk.workflow_commands.IQueryResult, 'queryId'> {
  switch (answer.kind) {
    case 'answered':
      return { succeeded: { response: toPayload(answer.result) } };
    case 'failed':
      return { failed: failureToProto(answer.failure) };
    case 'noHandler': {
      const { name } = requests[answer.queryId]!;
      const known = answer.known.length === 0 ? 'there are none' : `there is ${answer.known.join(', ')}`;
      const message = `no handler for query "${name}"; ${known}`;
      return { failed: failureToProto({ kind: 'application', type: 'HandlerNotFoundError', message }) };
    }
  }
}
