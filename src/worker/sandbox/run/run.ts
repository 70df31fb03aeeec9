/**
 * One run inside the sandbox: the state that its code has built up, and the runtime that the SDK talks to.
 *
 * A turn delivers what came in (messages first, then outcomes, each in the order of the history), lets the code run
 * until nothing more can happen, and gives the commands that came out. It reads nothing but its arguments, so the same
 * turns give the same commands.
 */

import type { Command } from '../../../core/history/command.js';
import type { EventOf, HistoryEvent } from '../../../core/history/event.js';
import { toFailure } from '../../../core/history/failure.js';
import type { CallbackRef } from '../../../core/run/callback.js';
import type { Paused } from '../../../core/run/pause.js';
import type { QueryAnswer, QueryRequest } from '../../../core/task.js';
import { decodePayload, encodePayload } from '../../../core/values/json.js';
import type { HandlerDeclaration, WorkflowDefinition } from '../../../sdk/definition.js';
import { isCancellation, UsageError } from '../../../sdk/errors.js';
import { LiveProperty } from '../../../sdk/live-property.js';
import type {
  Cancel,
  ChildRequest,
  Handler,
  HandlerOptions,
  LogLevel,
  MessageKind,
  ScopeStorage,
  Settle,
  StepDefaults,
  StepRequest,
  WorkflowInfo,
  WorkflowRuntime,
} from '../../../sdk/runtime.js';
import { isPromise } from '../../../sdk/schema.js';
import { CancellationScope } from '../../../sdk/scope.js';
import { ContinueAsNew, contextOf, parseInput, parseOutput } from '../../../sdk/workflow.js';
import { Chance } from './chance.js';
import { TurnCommands } from './commands.js';
import { Conditions } from './conditions.js';
import { failureOf, type StackReader } from './failures.js';
import { Handlers, type Update } from './handlers.js';
import type { Recorded } from './match.js';
import { Operations } from './operations.js';
import { Pausing } from './pausing.js';
import type { Validators } from './validators.js';

/**
 * What runs in pieces: between two of them whoever runs it lets everything run that is ready, which is all promise
 * jobs until none is left. How that is done differs from sandbox to sandbox.
 */
export type Pieces<T> = Generator<void, T, void>;

/** What a run needs of the sandbox around it. */
export interface RunHost {
  /** What promises were rejected with in this turn that nobody handles. */
  endTurn(): Pieces<unknown[]>;
  readonly scopes: ScopeStorage;
  readonly stacks: StackReader;
  /** Where outsiders post for a callback. */
  callbackUrl(callback: CallbackRef): string;
  /** Where a turn that takes too long is cut off and the sandbox goes on. */
  readonly validators?: Validators;
  log(level: LogLevel, fields: object, message: string): void;
}

export interface RunIdentity {
  workflowId: string;
  runId: string;
  workflowType: string;
  catalog: string;
}

export interface TurnInput {
  /** What the workflow's clock shows. */
  now: number;
  historyLength: number;
  continueAsNewSuggested: boolean;
  replaying: boolean;
  incoming: readonly HistoryEvent[];
  updates: readonly Update[];
  /** Patches that the history has by the end of this turn. */
  patches: readonly string[];
  reseed: string | undefined;
}

export const HISTORY_LENGTH = new LiveProperty<'historyLength', number>('historyLength');

export class Run implements WorkflowRuntime, Recorded {
  readonly identity: RunIdentity;
  readonly rootScope = new CancellationScope({ cancellable: true, parent: null });
  readonly commands = new TurnCommands();
  readonly #host: RunHost;
  readonly #load: () => WorkflowDefinition;
  readonly #operations: Operations;
  readonly #handlers = new Handlers(this);
  readonly #pausing = new Pausing();
  readonly #conditions = new Conditions((predicate) => this.readOnly(PREDICATE, predicate));
  readonly #chance = new Chance();
  readonly #patches = new Map<string, boolean>();
  #definition: WorkflowDefinition | undefined;
  #isAside = false;
  #isTainted = false;
  #turn: TurnInput = NO_TURN;
  #startedAt = 0;
  #attempt = 1;
  #parent: WorkflowInfo['parent'];
  #cancelRequested = false;
  #hasInput = false;
  #reading: string | undefined;
  #info: WorkflowInfo | undefined;

  /** `load` evaluates the workflow's files; it is called inside the first turn, since they may ask for the time. */
  constructor(identity: RunIdentity, load: () => WorkflowDefinition, host: RunHost) {
    this.identity = identity;
    this.#load = load;
    this.#host = host;
    this.#operations = new Operations(identity.workflowType, this.commands);
  }

  /**
   * Whether something that a replay does not run again, such as a query, may have changed the run: then what is in memory
   * must not be built upon.
   */
  get isTainted(): boolean {
    return this.#isTainted;
  }

  taint(): void {
    this.#isTainted = true;
  }

  get closed(): boolean {
    return this.commands.closed;
  }

  /** As of the last turn. */
  get paused(): Paused | undefined {
    return this.#pausing.paused;
  }

  /** Runs one turn and gives its commands. */
  *activate(given: TurnInput): Pieces<Command[]> {
    const turn = this.#pausing.deliverable(given);
    this.commands.begin();
    if (!turn) {
      this.#handlers.refuseWhilePaused(given.updates);
      return this.commands.end();
    }
    this.#turn = turn;
    if (turn.reseed !== undefined) this.#chance.reseed(turn.reseed);
    for (const patchId of turn.patches) if (!this.#patches.has(patchId)) this.#patches.set(patchId, false);
    for (const event of turn.incoming) this.#operations.foresee(event);
    if (this.#deliverMessages(turn)) yield* this.#runToRest();
    for (const event of turn.incoming) {
      if (this.closed) break;
      if (this.#deliver(event)) yield* this.#runToRest();
    }
    if (!this.closed) this.#handlers.refuseWaitingUpdates();
    this.#failFor(yield* this.#host.endTurn());
    return this.commands.end();
  }

  /** All messages of a turn reach their handlers before the code goes on: none is lost if it then ends the run. */
  #deliverMessages({ incoming, updates }: TurnInput): boolean {
    let any = false;
    for (const event of incoming) {
      if (event.type !== 'WORKFLOW_EXECUTION_SIGNALED') continue;
      this.#handlers.signal(event.attributes.signalName, event.attributes.input);
      any = true;
    }
    // One that is refused is not there at a replay, so nothing may follow from it.
    for (const update of updates) if (this.#handlers.update(update)) any = true;
    return any;
  }

  /** An error that nobody handles has escaped user code, except that work which was cancelled may be left alone. */
  #failFor(rejections: unknown[]): void {
    const loose = rejections.filter((reason) => !isCancellation(reason));
    if (loose.length > 0 && !this.closed) this.fail(loose[0]);
  }

  /** Answers queries. Whatever a handler sets in motion comes to its end here, and changes nothing. */
  *answer(requests: readonly QueryRequest[]): Pieces<QueryAnswer[]> {
    if (requests.length === 0) return NO_ANSWERS;
    this.#turn = { ...this.#turn, replaying: false };
    const answers = requests.map((request) => this.#handlers.query(request));
    this.#reading = "a query, which can only read the workflow's state";
    this.#isAside = true;
    yield;
    this.#reading = undefined;
    this.#isAside = false;
    const loose = yield* this.#host.endTurn();
    if (loose.length > 0) {
      const { message } = toFailure(loose[0]);
      this.log('warn', `a query left a promise behind that was rejected: ${message}`, {});
    }
    return answers;
  }

  recorded(command: Command, eventId: number): void {
    this.#operations.recorded(command, eventId);
  }

  activityId(scheduledEventId: number): string | undefined {
    return this.#operations.activityId(scheduledEventId);
  }

  /** Everything that follows from what just happened, before the next thing does. */
  *#runToRest(): Pieces<void> {
    do yield;
    while (this.#conditions.resolve());
  }

  /** Whether `event` meant anything to the code; signals have been delivered before. */
  #deliver(event: HistoryEvent): boolean {
    switch (event.type) {
      case 'WORKFLOW_EXECUTION_STARTED':
        this.#start(event);
        return true;
      case 'WORKFLOW_EXECUTION_CANCEL_REQUESTED':
        this.#cancelRequested = true;
        this.rootScope.cancel();
        return true;
      default:
        return this.#operations.deliver(event);
    }
  }

  #start(event: EventOf<'WORKFLOW_EXECUTION_STARTED'>): void {
    const { attributes } = event;
    this.#startedAt = event.at;
    this.#attempt = attributes.attempt;
    const { parent } = attributes;
    if (parent) this.#parent = Object.freeze({ workflowId: parent.workflowId, runId: parent.runId });
    if (this.#turn.reseed === undefined) this.#chance.reseed(attributes.originalExecutionRunId);
    const definition = this.readOnly("the top level of a workflow's file: call it inside fn", this.#load);
    this.#definition = definition;
    const call = (input: unknown) => {
      this.#hasInput = true;
      const context = contextOf(definition);
      return definition.fn(input as never, context as never);
    };
    try {
      const input = parseInput(definition, decodePayload(attributes.input[0]));
      const returned = isPromise(input) ? input.then(call) : call(input);
      if (isPromise(returned)) returned.then((value) => this.#complete(definition, value), this.fail);
      else this.#complete(definition, returned);
    } catch (error) {
      this.fail(error);
    }
  }

  #complete(definition: WorkflowDefinition, value: unknown): void {
    try {
      if (value instanceof ContinueAsNew) {
        const input = encodePayload(value.input, 'input of continueAsNew()');
        this.#close({
          kind: 'continueAsNew',
          workflowType: definition.name,
          input: input === undefined ? [] : [input],
        });
        return;
      }
      const output = parseOutput(definition, value);
      if (isPromise(output)) output.then((parsed) => this.#succeed(parsed), this.fail);
      else this.#succeed(output);
    } catch (error) {
      this.fail(error);
    }
  }

  #succeed(output: unknown): void {
    try {
      const result = encodePayload(output, 'result');
      this.#close({ kind: 'completeRun', ...(result !== undefined && { result }) });
    } catch (error) {
      this.fail(error);
    }
  }

  /** Any error that escapes user code ends the run. */
  readonly fail = (error: unknown): void => {
    if (this.isStop(error)) this.#close({ kind: 'cancelRun' });
    else {
      const failure = failureOf(error, this.#host.stacks);
      this.#close({ kind: 'failRun', failure, ...(!this.#hasInput && { refusesInput: true as const }) });
    }
  };

  isStop(error: unknown): boolean {
    return this.#cancelRequested && isCancellation(error);
  }

  #close(command: Parameters<TurnCommands['close']>[0]): void {
    if (this.closed) return;
    this.commands.close(command);
    const { running } = this.#handlers;
    if (running > 0) {
      this.log(
        'warn',
        `the workflow ended while ${running} of its signal or update handlers were under way: await condition(allHandlersFinished) before returning`,
        {},
      );
    }
  }

  readOnly<T>(what: string, fn: () => T): T {
    const before = this.#reading;
    this.#reading = what;
    try {
      return fn();
    } finally {
      this.#reading = before;
    }
  }

  get validators(): Validators | undefined {
    return this.#host.validators;
  }

  aside<T>(what: string, fn: () => T): T {
    const before = this.#isAside;
    this.#isAside = true;
    try {
      return this.readOnly(what, fn);
    } finally {
      this.#isAside = before;
    }
  }

  assertMayAct(what: string): void {
    if (this.#reading !== undefined) throw new UsageError(`${what} cannot be used in ${this.#reading}`);
  }

  // What the SDK asks for.

  info(): WorkflowInfo {
    this.#info ??= this.#describe();
    return this.#info;
  }

  /** One object for the whole run, so that an author may keep it: the length of the history goes on being right. */
  #describe(): WorkflowInfo {
    const info = { ...this.identity, startedAt: new Date(this.#startedAt), attempt: this.#attempt };
    HISTORY_LENGTH.addTo(info, () => this.#turn.historyLength);
    return Object.freeze(
      Object.assign(info, this.#parent && { parent: this.#parent }),
    ) as unknown as WorkflowInfo;
  }

  get scopes(): ScopeStorage {
    return this.#host.scopes;
  }

  get stepDefaults(): StepDefaults {
    return this.#definition?.stepDefaults ?? NO_DEFAULTS;
  }

  isContinueAsNewSuggested(): boolean {
    return this.#turn.continueAsNewSuggested;
  }

  now(): number {
    return this.#turn.now;
  }

  random(): number {
    return this.#isAside ? this.#chance.nextAside() : this.#chance.next();
  }

  newCallbackId(): string {
    return this.#chance.callbackId();
  }

  callbackUrl(callbackId: string, { isChecked, isOwnId }: { isChecked: boolean; isOwnId: boolean }): string {
    const { workflowId, runId } = this.identity;
    return this.#host.callbackUrl({ workflowId, callbackId, isChecked, ...(!isOwnId && { madeBy: runId }) });
  }

  scheduleStep(request: StepRequest, settle: Settle<unknown>): Cancel {
    return this.#operations.scheduleStep(request, settle);
  }

  startTimer(durationMs: number, settle: Settle<void>): Cancel {
    return this.#operations.startTimer(durationMs, settle);
  }

  startChild(request: ChildRequest, settle: Settle<unknown>): Cancel {
    const workflowId = request.workflowId ?? `${request.workflowType}-${this.#randomSuffix()}`;
    return this.#operations.startChild({ ...request, workflowId }, settle);
  }

  signalExternal(workflowId: string, name: string, args: unknown[], settle: Settle<void>): Cancel {
    return this.#operations.signalExternal(workflowId, name, args, settle);
  }

  cancelExternal(workflowId: string, settle: Settle<void>): void {
    this.#operations.cancelExternal(workflowId, settle);
  }

  whenTrue(predicate: () => boolean, settle: Settle<void>): Cancel {
    return this.#conditions.whenTrue(predicate, settle);
  }

  declared(kind: MessageKind, name: string): HandlerDeclaration | undefined {
    const declarations = this.#definition?.[DECLARATIONS[kind]];
    return declarations && Object.hasOwn(declarations, name) ? declarations[name] : undefined;
  }

  setHandler(kind: MessageKind, name: string, handler: Handler | undefined, options: HandlerOptions): void {
    this.#handlers.set(kind, name, handler, options);
  }

  allHandlersFinished(): boolean {
    return this.#handlers.running === 0;
  }

  patched(patchId: string, deprecated: boolean): boolean {
    const recordedBefore = this.#patches.get(patchId);
    // Known and already asked for in this run: the answer stands, and the marker is recorded once.
    if (recordedBefore === true) return true;
    const takesNewPath = recordedBefore === false || !this.#turn.replaying;
    if (takesNewPath) {
      this.#patches.set(patchId, true);
      this.commands.add({ kind: 'recordPatch', patchId, deprecated });
    }
    return takesNewPath;
  }

  log(level: LogLevel, message: string, fields: object): void {
    if (this.#turn.replaying) return;
    this.#host.log(level, { ...fields, ...this.identity }, message);
  }

  #randomSuffix(): string {
    let suffix = '';
    for (let i = 0; i < 12; i++) suffix += ALPHABET[Math.floor(this.random() * ALPHABET.length)];
    return suffix;
  }
}

const DECLARATIONS = { signal: 'signals', query: 'queries', update: 'updates' } as const;
const ALPHABET = '0123456789abcdefghijklmnopqrstuvwxyz';
const PREDICATE = "the predicate of condition(), which can only read the workflow's state";
const NO_ANSWERS: QueryAnswer[] = [];
const NO_DEFAULTS: StepDefaults = {};
const NO_TURN: TurnInput = {
  now: 0,
  historyLength: 0,
  continueAsNewSuggested: false,
  replaying: false,
  incoming: [],
  updates: [],
  patches: [],
  reseed: undefined,
};
