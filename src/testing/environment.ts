/** `createTestEnvironment`: the engine itself in the test's process, with a clock that jumps and mocks for steps. */
import { type Budget, isKnownCurrency } from '../core/cost/budget.js';
import { PerdureError } from '../core/errors.js';
import { type Log, silentLog } from '../core/log.js';
import type { ReplayResult } from '../core/replay-result.js';
import { type Duration, toMs } from '../core/values/duration.js';
import { encodePayload } from '../core/values/json.js';
import { isWorkflowId, WORKFLOW_ID_RULE } from '../core/values/names.js';
import { unknownName } from '../core/values/nearest.js';
import { type WorkflowDefinition, workflowDefinition } from '../sdk/definition.js';
import { UsageError } from '../sdk/errors.js';
import { stepContext } from '../sdk/step-context.js';
import { parseInput } from '../sdk/workflow.js';
import type { LoadedWorkflows } from '../worker/loading/loader.js';
import { Replays } from '../worker/replaying/replays.js';
import { callbackAt } from './callbacks.js';
import { loadOnce } from './loading.js';
import { CATALOG } from './local-worker.js';
import { refuseUnknown } from './options.js';
import { Pace } from './pace.js';
import { budgetAmount, Run, type RunContext } from './run.js';
import { type Faults, Stage } from './stage.js';
import { type MockFunction, StepBook } from './step-book.js';
import type {
  AdvanceOptions,
  AnyWorkflow,
  ReplayOptions,
  StartOptions,
  StepLike,
  TestEnvironment,
  TestEnvironmentOptions,
} from './types.js';
import { VirtualTime } from './virtual-time.js';

const OPTIONS: readonly (keyof TestEnvironmentOptions)[] = [
  'workflows',
  'replayEveryTurn',
  'startTime',
  'seed',
  'import',
  'log',
];

/**
 * How long the code of one history may run. A replay takes milliseconds, and test runners end a test after five seconds
 * without saying what it did.
 */
const REPLAY_WITHIN_MS = 4_000;
/** What Node's timers can do. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** @throws LoadError with every problem of the files, UsageError */
export async function openEnvironment(options: TestEnvironmentOptions): Promise<Environment> {
  const settings = settingsOf(options);
  return Environment.open({ ...settings, loaded: await loadOnce(options.workflows, options.import) });
}

/** What makes an environment; another one of the same is a fresh one. */
export interface EnvironmentSettings {
  loaded: LoadedWorkflows;
  isReplayingEveryTurn: boolean;
  startedAt: number;
  seed: number;
  log: Log;
  mocks?: Iterable<readonly [string, MockFunction]>;
  faults?: Faults;
}

export class Environment implements TestEnvironment {
  readonly #time: VirtualTime;
  readonly #stage: Stage;
  readonly #pace: Pace;
  readonly #steps: StepBook;
  #replays: Replays | undefined;

  private constructor(private readonly settings: EnvironmentSettings) {
    const { loaded, isReplayingEveryTurn, startedAt, seed, log, mocks, faults } = settings;
    this.#time = new VirtualTime(startedAt);
    this.#steps = new StepBook(loaded, mocks);
    this.#stage = new Stage({
      ...{ loaded, isReplayingEveryTurn, log, seed, faults },
      time: this.#time,
      steps: this.#steps,
    });
    this.#pace = new Pace(this.#time, this.#stage);
  }

  static async open(settings: EnvironmentSettings): Promise<Environment> {
    const environment = new Environment(settings);
    await environment.#pace.settle();
    return environment;
  }

  /** What a fresh environment like this one is made of, mocks included. */
  get likeThis(): EnvironmentSettings {
    return { ...this.settings, mocks: [...this.#steps.mocks] };
  }

  async start(workflow: string | AnyWorkflow, input?: unknown, options: StartOptions = {}): Promise<Run> {
    const definition = this.#definitionOf(workflow);
    const { name: workflowType } = definition;
    const { workflowId = undefined, budget = undefined, ...unknown } = options;
    refuseUnknown('start', Object.keys(unknown), ['workflowId', 'budget']);
    if (workflowId !== undefined && !isWorkflowId(workflowId)) {
      throw new UsageError(
        `${JSON.stringify(workflowId)} is not the id of a workflow: use ${WORKFLOW_ID_RULE}`,
      );
    }
    // Clients send null where there is no input: the API has no other word for it.
    const sent = input ?? null;
    // Only checked, as the API does: the run parses it itself, and transforms must not be applied twice.
    await parseInput(definition, sent);
    const payload = encodePayload(sent, `input of workflow "${workflowType}"`);
    const ids = this.#stage.newIds(workflowType);
    const request = {
      workflowType,
      catalog: CATALOG,
      input: payload === undefined ? [] : [payload],
      workflowId: workflowId ?? ids.workflowId,
      ...(budget && { budget: budgetOf(budget) }),
    };
    const ref = await this.#stage.call((engine) => engine.start(request), ids);
    await this.#pace.afterMessage();
    return new Run(this.#context, ref);
  }

  async run(workflow: string | AnyWorkflow, input?: unknown, options?: StartOptions): Promise<never> {
    return (await this.start(workflow, input, options)).result();
  }

  mock(step: StepLike, fn: MockFunction): void {
    this.#steps.mock(step, fn);
  }

  unmock(step?: StepLike): void {
    if (step === undefined) this.#steps.unmockAll();
    else this.#steps.unmock(step);
  }

  async advance(duration: Duration, { pastRunningSteps = isInStep() }: AdvanceOptions = {}): Promise<void> {
    await this.#pace.advance(toMs(duration, 'advance()'), pastRunningSteps);
  }

  now(): Date {
    return new Date(this.#time.now());
  }

  async callback(url: string, payload?: unknown): Promise<void> {
    const { workflowId, callbackId } = callbackAt(url);
    await this.handle(workflowId).feedback(payload, { callbackId });
  }

  handle(workflowId: string, runId?: string): Run {
    const found = runId ?? this.#stage.runIdOf(workflowId);
    if (found !== undefined) return new Run(this.#context, { workflowId, runId: found }, runId !== undefined);
    throw new PerdureError('WorkflowNotFoundError', `there is no workflow with id "${workflowId}"`, {
      workflowId,
    });
  }

  async replay(history: unknown, options: ReplayOptions = {}): Promise<ReplayResult> {
    const { within = REPLAY_WITHIN_MS, ...unknown } = options;
    refuseUnknown('replay', Object.keys(unknown), ['within']);
    const withinMs = Math.min(Math.max(toMs(within, 'within'), 1), MAX_TIMER_MS);
    const { bundles, library, sourceMaps } = this.settings.loaded;
    this.#replays ??= new Replays({ code: { bundles, library, sourceMaps } });
    return this.#replays.of(history, withinMs);
  }

  async close(): Promise<void> {
    await this.#replays?.close();
    await this.#stage.close();
  }

  get #context(): RunContext {
    return {
      stage: this.#stage,
      pace: this.#pace,
      steps: this.#steps,
      loaded: this.settings.loaded,
    };
  }

  #definitionOf(workflow: string | AnyWorkflow): WorkflowDefinition {
    const { loaded } = this.settings;
    const name = typeof workflow === 'string' ? workflow : workflowDefinition(workflow)?.name;
    if (name === undefined) {
      throw new UsageError('this is not a workflow: give what workflow({ … }) gave, or its name');
    }
    const found =
      loaded.definitions.get(name) ??
      [...loaded.definitions.values()].find(({ aliases }) => aliases.includes(name));
    if (found) return found;
    const known = [...loaded.definitions.values()].flatMap(({ name: own, aliases }) => [own, ...aliases]);
    throw new PerdureError(
      'UnsupportedWorkflowError',
      `${unknownName('workflow', name, known)} (in ${loaded.directory})`,
    );
  }
}

/** @throws UsageError */
function budgetOf({ amount, currency, ...unknown }: NonNullable<StartOptions['budget']>): Budget {
  refuseUnknown('start', Object.keys(unknown), ['amount', 'currency']);
  if (typeof currency !== 'string' || !isKnownCurrency(currency)) {
    throw new UsageError(
      `the currency of a budget is one of ISO 4217, such as "USD", or a unit of your own that begins with X, such as "XTK", and is ${JSON.stringify(currency)}`,
    );
  }
  return { amount: budgetAmount(amount), currency };
}

function settingsOf(options: TestEnvironmentOptions): Omit<EnvironmentSettings, 'loaded'> {
  if (typeof options !== 'object' || options === null || typeof options.workflows !== 'string') {
    throw new UsageError(
      "createTestEnvironment() needs the folder of the workflows: createTestEnvironment({ workflows: 'workflows' })",
    );
  }
  refuseUnknown('createTestEnvironment', Object.keys(options), OPTIONS);
  const { replayEveryTurn = false, startTime = Date.now(), seed = 1, log } = options;
  const startedAt = new Date(startTime).getTime();
  if (Number.isNaN(startedAt)) throw new UsageError(`startTime ${JSON.stringify(startTime)} is not a time`);
  if (!Number.isSafeInteger(seed)) throw new UsageError(`seed ${String(seed)} is not a whole number`);
  const all: Log = { ...silentLog, ...(log ?? consoleLog) };
  return { isReplayingEveryTurn: replayEveryTurn, startedAt, seed, log: all };
}

const consoleLog: Pick<Log, 'warn' | 'error'> = {
  warn: (fields, message) => console.warn(message, fields),
  error: (fields, message) => console.error(message, fields),
};

function isInStep(): boolean {
  try {
    stepContext();
    return true;
  } catch {
    return false;
  }
}
