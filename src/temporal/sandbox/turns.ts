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
import { brokenLimit } from '../../core/bounds/turn-limits.js';
import { type CloseCommand, type Command, isCloseCommand } from '../../core/history/command.js';
import type { Paused } from '../../core/run/pause.js';
import type { ClosedStatus } from '../../core/run/run.js';
import type { QueryAnswer } from '../../core/task.js';
import type { Update } from '../../worker/sandbox/run/handlers.js';
import type { Pieces, Run, RunIdentity, TurnInput } from '../../worker/sandbox/run/run.js';
import { CURRENT_PAYLOAD_VERSION, DEPTH_HEADER, MEMO } from '../cluster/conventions.js';
import { failureToProto } from '../translate/failure.js';
import { decoded, fromPayloads, toPayload } from '../translate/payload.js';
import { isTemporalsQuery, METADATA_QUERY } from '../translate/queries.js';
import { traceContextIn } from '../translate/tracer-header.js';
import { wellFormed } from '../translate/well-formed.js';
import { type RunFrame, toCore } from './commands.js';
import { IncomingEvents } from './events.js';
import type { Sandbox } from './sandbox.js';

type Job = coresdk.workflow_activation.IWorkflowActivationJob;
type CoreCommand = coresdk.workflow_commands.IWorkflowCommand;

/** Conditions of Temporal's own API are numbered from 1. */
const OUR_CONDITION = 0;

/** The run answers the one of Temporal's name under a name of its own. */
const OUR_METADATA_QUERY = '__workflow_metadata';

/** Those that Temporal answers by itself. */
const isTemporals = (queryType: string): boolean =>
  isTemporalsQuery(queryType) && queryType !== METADATA_QUERY;

/** How a run closes by a command. */
const ENDS: Partial<Record<Command['kind'], ClosedStatus>> = {
  completeRun: 'completed',
  failRun: 'failed',
  cancelRun: 'cancelled',
  continueAsNew: 'continued_as_new',
};

export class RunTurns implements WorkflowInternalsInterceptor {
  #run: Run;
  /** What the turns so far were given, so that the run can be built up anew. */
  readonly #past: PastTurn[] = [];
  readonly #identity: RunIdentity;
  readonly #frame: RunFrame;
  readonly #events: IncomingEvents;
  readonly #updateInstances = new Map<string, string>();
  #seed: number[] | undefined;
  /** What the memo says. */
  #recordedPause: Paused | undefined;
  #pieces: Pieces<void> | undefined;
  #commands: CoreCommand[] = [];
  /** Cancellations of children whose start the same turn asks for: the cluster takes them once it has made the start. */
  #early: { childSeq: string; commands: CoreCommand[] }[] = [];
  /** Held back until what the run has asked of others has reached them, since the cluster drops it otherwise. */
  #closing: CloseCommand | undefined;

  constructor(
    private readonly activator: Activator,
    private readonly sandbox: Sandbox,
  ) {
    const { info } = activator;
    const { workflowType, taskQueue: catalog } = info;
    const { settings } = sandbox;
    this.#identity = { workflowId: info.workflowId, runId: info.runId, workflowType, catalog };
    this.#run = sandbox.newRun(this.#identity);
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
      isReset: false,
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
    return { commands: wellFormed([...next(input).commands, ...commands]) };
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
    if (this.#run.isTainted && !this.#closing) yield* this.#rebuild();
    const asked = this.#closing ? [] : this.#withinLimits(yield* this.#run.activate(input));
    const eventIds: number[] = [];
    const starting = new Map<string, string>();
    this.#sendEarly();
    for (const command of asked) {
      if (command.kind === 'startChild') starting.set(command.workflowId, command.childSeq);
      if (isCloseCommand(command)) this.#closing = command;
      else {
        const eventId = this.#ask(command, starting);
        // What was refused leaves no trace.
        if (command.kind !== 'rejectUpdate') eventIds.push(eventId);
      }
    }
    this.#recordPause();
    if (!this.#closing) this.#past.push({ input: replayed(input, asked), eventIds });
    if (this.#closing && !this.#events.isOnItsWay) this.#ask(this.#closing);
  }

  /** Whoever asks for the run's state reads the memo: the history would have to be read for it. */
  #recordPause(): void {
    const { paused } = this.#run;
    if (paused === this.#recordedPause || this.#closing) return;
    if (!paused) this.sandbox.goingOn();
    this.#recordedPause = paused;
    const fields = { [MEMO.paused]: toPayload(JSON.stringify(paused ?? null)) };
    this.#commands.push({ modifyWorkflowProperties: { upsertedMemo: { fields } } });
  }

  /** A query may have changed the run that is in memory: the one that goes on is made of what came in, as at a replay. */
  *#rebuild(): Pieces<void> {
    this.#run = this.sandbox.newRun(this.#identity);
    this.sandbox.use(this.#run);
    for (const { input, eventIds } of this.#past) {
      const commands = yield* this.#run.activate(input);
      commands.forEach((command, at) => {
        this.#run.recorded(command, eventIds[at] ?? 0);
      });
    }
  }

  #sendEarly(): void {
    const early = this.#early;
    this.#early = [];
    for (const each of early) {
      if (this.#events.isChildStarting(each.childSeq)) this.#early.push(each);
      else this.#commands.push(...each.commands);
    }
  }

  /** Answers with the number of the event that will record it. `starting` are the children of this turn, by their ids. */
  #ask(command: Command, starting?: ReadonlyMap<string, string>): number {
    const eventId = this.#events.record(command);
    this.#run.recorded(command, eventId);
    const commands = toCore(command, this.#frame);
    const childSeq = command.kind === 'cancelExternal' ? starting?.get(command.workflowId) : undefined;
    if (childSeq === undefined) this.#commands.push(...commands);
    else this.#early.push({ childSeq, commands });
    const end = ENDS[command.kind];
    if (end && this.#frame.traces !== undefined) this.sandbox.closing(end);
    if (command.kind === 'failRun') this.sandbox.failed(command.failure);
    if (command.kind === 'completeUpdate' || command.kind === 'rejectUpdate') {
      this.#updateInstances.delete(command.updateId);
    }
    return eventId;
  }

  #withinLimits(commands: Command[]): Command[] {
    const extent = { pending: this.#events.pending, depth: this.#frame.depth };
    const message = brokenLimit(extent, commands, this.sandbox.settings.limits);
    if (message === undefined) return commands;
    return [
      // An update that nobody has accepted is not in the history, and a replay without it would not break the limit.
      ...commands.filter(({ kind }) => kind === 'acceptUpdate'),
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
    // Only a reset gives a run another seed than it began with.
    const beginsAfterReset = reseed !== undefined && this.#seed !== undefined;
    if (beginsAfterReset) this.#frame.isReset = true;
    this.#seed = randomnessSeed;
    const { parent, attempt } = info;
    const incoming = this.#events.read(jobs, {
      startedAt: info.startTime.getTime(),
      attempt,
      parent: parent && { workflowId: parent.workflowId, runId: parent.runId },
    });
    const { attachedChildren } = this.#events;
    if (beginsAfterReset && attachedChildren.length > 0) this.sandbox.wasReset(attachedChildren);
    return {
      now,
      // Core counts the event that says that this turn has started.
      historyLength: info.historyLength - 1,
      continueAsNewSuggested: info.continueAsNewSuggested,
      replaying: info.unsafe.isReplaying,
      incoming,
      updates: jobs.flatMap(({ doUpdate }) => (doUpdate ? [this.#updateOf(doUpdate)] : [])),
      // biome-ignore lint/complexity/useLiteralKeys: Temporal has it as private, and there is no other way to ask for all of them
      patches: [...this.activator['knownPresentPatches']],
      reseed,
    };
  }

  /** What only the first job says. */
  #learn(start: coresdk.workflow_activation.IInitializeWorkflow): void {
    this.#frame.depth = Number(decoded(start.headers?.[DEPTH_HEADER]) ?? 0);
    this.#frame.traceContext = traceContextIn(start.headers);
    const traces = decoded(start.memo?.fields?.[MEMO.traces]);
    if (traces === 'all' || traces === 'failed') this.#frame.traces = traces;
    this.#frame.purse = start.memo?.fields?.[MEMO.purse] ?? undefined;
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
      const name = queryType === METADATA_QUERY ? OUR_METADATA_QUERY : (queryType ?? '');
      ids.push(queryId ?? '');
      return [{ queryId: ids.length - 1, name, input: fromPayloads({ payloads: args ?? [] }) }];
    });
    for (const answer of yield* this.#run.answer(requests)) {
      this.#commands.push({
        respondToQuery: { queryId: ids[answer.queryId], ...this.#responseOf(answer, requests) },
      });
    }
  }

  #responseOf(
    answer: QueryAnswer,
    requests: readonly { name: string }[],
  ): Omit<coresdk.workflow_commands.IQueryResult, 'queryId'> {
    const { name } = requests[answer.queryId]!;
    switch (answer.kind) {
      case 'answered': {
        const response = toPayload(answer.result);
        const bytes = response.data?.length ?? 0;
        const { payloadBytes } = this.sandbox.settings.limits;
        if (bytes <= payloadBytes) return { succeeded: { response } };
        const message = `the answer to query "${name}" has ${bytes} bytes; the limit is ${payloadBytes} bytes`;
        return { failed: failureToProto({ kind: 'application', type: 'LimitExceededError', message }) };
      }
      case 'failed':
        return { failed: failureToProto(answer.failure) };
      case 'noHandler': {
        const known = answer.known.length === 0 ? 'there are none' : `there is ${answer.known.join(', ')}`;
        const message = `no handler for query "${name}"; ${known}`;
        return { failed: failureToProto({ kind: 'application', type: 'HandlerNotFoundError', message }) };
      }
    }
  }
}

interface PastTurn {
  input: TurnInput;
  /** Of the commands that came out. */
  eventIds: number[];
}

/** The turn as a replay has it: without what was refused in it, and with the patches that it took. */
function replayed(input: TurnInput, commands: readonly Command[]): TurnInput {
  const accepted = new Set(
    commands.flatMap((command) => (command.kind === 'acceptUpdate' ? [command.updateId] : [])),
  );
  const taken = commands.flatMap((command) => (command.kind === 'recordPatch' ? [command.patchId] : []));
  const updates = input.updates.filter(({ updateId }) => accepted.has(updateId));
  return {
    ...input,
    replaying: true,
    updates: updates.map((update) => ({ ...update, accepted: true })),
    patches: [...input.patches, ...taken],
  };
}
