/**
 * A worker of a Temporal cluster: runs the turns and steps of one catalog, and sees to it that the cluster knows it.
 *
 * 1. A cluster that is away is waited for, whether at the start or later; the workflows are no less ready for it.
 * 2. What Temporal's library cannot go on after ends the process, and another one takes its place.
 */
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  NativeConnection,
  type WorkerOptions as TemporalOptions,
  Worker,
  type WorkerStatus,
} from '@temporalio/worker';
import type { WorkflowInfo } from '@temporalio/workflow';
import type { TurnLimits } from '../../core/bounds/turn-limits.js';
import { PerdureError } from '../../core/errors.js';
import type { Failure } from '../../core/history/failure.js';
import type { Log } from '../../core/log.js';
import type { CallbackSettings } from '../../core/run/callback.js';
import type { ClosedStatus } from '../../core/run/run.js';
import type { CodeVersion } from '../../core/run/version.js';
import type { RunRef, TracePlan } from '../../engine.js';
import { registeredAttemptSpans } from '../../telemetry/attempt-spans.js';
import { FailureLog } from '../../telemetry/failure-log.js';
import { ABORT_MS, within } from '../../worker/grace.js';
import type { LoadedWorkflows } from '../../worker/loading/loader.js';
import type { ProcessWorker, WorkerContext } from '../../worker/process.js';
import { createSandbox } from '../../worker/sandbox/host.js';
import type { StepRunnerOptions } from '../../worker/steps/step-runner.js';
import { Watchdog } from '../../worker/watchdog/watchdog.js';
import { refuseBroken } from '../../worker/worker.js';
import { type CommonWorkerOptions, DEFAULT_PUBLIC_URL } from '../../worker/worker-options.js';
import { Cluster, type TemporalSettings, tlsOptions } from '../cluster/connection.js';
import { makeCallbackKey } from '../kept/callback-key.js';
import { SINK } from '../sandbox/deployment.js';
import { buildIdOf } from '../translate/build-id.js';
import { Budgets } from './budgets.js';
import { bundleSandbox } from './bundle.js';
import { installRuntime } from './core-log.js';
import { tellsOfEndedChildren } from './ended-children.js';
import { handBack } from './hand-back.js';
import { Misfits } from './misfits.js';
import { goesOn, whilePaused } from './paused-runs.js';
import { answerRefusedTurns } from './refused-turns.js';
import { CatalogRegistration } from './registration.js';
import { SignsOfLife } from './signs-of-life.js';
import { Steps } from './steps.js';

export interface TemporalWorkerOptions extends CommonWorkerOptions {
  temporal: TemporalSettings;
  limits: TurnLimits;
  livenessMs: number;
  /** Which runs get a trace from this worker, and where it will be. */
  traces?: TracePlan;
}

/** The turns of a run go to the worker that has it in its cache, but not for longer than this if that is away. */
const STICKY_MS = 2_000;
/** Heartbeats of one step leave at most this often. */
const HEARTBEAT_INTERVAL_MS = 1_000;
const FIRST_PAUSE_MS = 200;
const MAX_PAUSE_MS = 5_000;
const MAX_SLOW_TRIES = 10;
/** Between two lines in the log that say the same. */
const REMIND_MS = 60_000;
/** How often it is seen to that the catalog is registered. */
const REGISTERED_MS = 5_000;
/** How often it is seen to that Temporal's worker is at work. */
const LOOK_MS = 500;

export class TemporalWorker implements ProcessWorker {
  readonly started: Promise<void>;
  readonly registered: Promise<void>;
  readonly #steps: Steps;
  readonly #failures: FailureLog;
  readonly #goesOn: (run: RunRef) => Promise<void>;
  readonly #tellOfEndedChildren: (run: RunRef, children: readonly string[]) => Promise<void>;
  readonly #identity = `${process.pid}@${hostname()}`;
  readonly #ending = new AbortController();
  readonly #version: CodeVersion;
  #cluster: Cluster | undefined;
  #registration: CatalogRegistration | undefined;
  #misfits: Misfits | undefined;
  #running: { worker: Worker; ended: Promise<void> } | undefined;
  #onAway!: () => void;
  /** The cluster was not there when it was first looked for. */
  readonly #away = new Promise<void>((resolve) => {
    this.#onAway = resolve;
  });

  /** @throws LoadError */
  constructor(
    private readonly loaded: LoadedWorkflows,
    private readonly options: TemporalWorkerOptions,
    private readonly context: WorkerContext,
  ) {
    const { log } = context;
    this.#version = { id: loaded.codeId, name: options.versionName ?? null };
    const { bundles: workflows, library, sourceLines: stacks, directory } = loaded;
    refuseBroken(createSandbox({ workflows, library, stacks, cacheSize: 0, log }), directory);
    const { watchdog: limits, pulseFd } = options;
    const watchdog = new Watchdog({ limits, pulseFd, onTick: () => this.#steps.stopOverdue() });
    const signs = new SignsOfLife({
      settings: options.temporal,
      identity: this.#identity,
      counters: watchdog.counters,
    });
    const find: StepRunnerOptions['find'] = (workflowType, stepName) =>
      loaded.steps.find(workflowType, stepName);
    const { payloadBytes } = options;
    this.#failures = new FailureLog(log);
    this.#goesOn = goesOn(() => this.#cluster, log);
    this.#tellOfEndedChildren = tellsOfEndedChildren(() => this.#cluster, log);
    this.#steps = new Steps(
      { find, log, payloadBytes, watch: watchdog, spans: registeredAttemptSpans() },
      signs,
      handBack(() => this.#cluster, this.#identity, log),
      whilePaused(() => this.#cluster, this.#identity),
      new Budgets(() => this.#cluster, this.#identity, log),
      (attempt) => this.#failures.attemptFailed(attempt),
    );
    installRuntime(log);
    const start = this.#start();
    this.started = Promise.race([start, this.#away]);
    // An end that comes before never resolves it; what it was is told by the other two.
    this.registered = new Promise((resolve) =>
      start.then(
        () => this.#running && resolve(),
        () => {},
      ),
    );
    // Nobody waits any more for what comes to light only once the cluster is there.
    this.#away.then(() => start).catch((error: unknown) => context.fail('this worker cannot begin', error));
  }

  async drain(graceMs: number): Promise<void> {
    this.#ending.abort();
    await this.#drain(graceMs);
    // Those who stay see to it when it cannot be said.
    await within(ABORT_MS, this.#registration?.leave().catch(() => undefined) ?? Promise.resolve());
    await this.#cluster?.close();
  }

  async #drain(graceMs: number): Promise<void> {
    const running = this.#running;
    if (!running) return;
    // After an error of its own it has begun to by itself, and refuses to be told.
    if (running.worker.getState() === 'RUNNING') running.worker.shutdown();
    const idle = this.#steps.idle();
    const wait = this.#steps.describeWait(graceMs);
    if (wait !== undefined) this.context.log.info({}, wait);
    await within(graceMs, idle);
    this.#steps.stopAll('the worker is shutting down');
    // A step that listens to its signal ends now, and its answer still counts.
    await within(ABORT_MS, idle);
    this.#steps.abandon('the worker has shut down');
    await within(ABORT_MS, running.ended);
    await within(ABORT_MS, this.#misfits?.leave() ?? Promise.resolve());
  }

  /** Its place in the catalog stays: another process takes over. */
  async close(): Promise<void> {
    this.#ending.abort();
    await this.#drain(0);
  }

  async #start(): Promise<void> {
    const cluster = await Cluster.open(this.options.temporal, this.context.log);
    this.#cluster = cluster;
    const { catalog, resultFormat, traces, pool, publicUrl = DEFAULT_PUBLIC_URL } = this.options;
    const { loaded } = this;
    const key = await this.#persist(() => makeCallbackKey(cluster));
    if (key === undefined) return;
    const code = await this.#bundle({ key, publicUrl });
    const registration = new CatalogRegistration(
      cluster,
      {
        ...{ catalog, loaded, resultFormat, identity: this.#identity, traces: traces?.runs },
        ...{ version: this.#version, pool: pool.id },
      },
      this.context.log,
    );
    this.#registration = registration;
    await this.#persist(() => registration.join());
    this.#keepRegistered(registration);
    const worker = await this.#persist(() => this.#create(code));
    if (!worker) return;
    answerRefusedTurns(worker, this.context.log);
    this.#misfits = new Misfits(cluster, this.#identity, () => registration.others(), this.context.log);
    this.#misfits.attend(worker);
    const ended = worker.run().then(
      () => this.#over('it has stopped'),
      (error: unknown) => this.#over(error),
    );
    this.#running = { worker, ended };
    this.#watch(worker);
  }

  /**
   * After an error of its own Temporal's worker takes nothing more and waits for what it has under way, which may be
   * the very turn that it could not go on after: then its `run` never ends.
   */
  #watch(worker: Worker): void {
    const { signal } = this.#ending;
    const timer = setInterval(() => {
      const why = signal.aborted ? undefined : whyItStands(worker.getStatus());
      if (why !== undefined) this.#over(why);
      if (why !== undefined || signal.aborted) clearInterval(timer);
    }, LOOK_MS);
    timer.unref();
  }

  #keepRegistered(registration: CatalogRegistration): void {
    const timer = setInterval(() => {
      // A cluster that is away has it when it comes back.
      registration.check().catch(() => undefined);
    }, REGISTERED_MS);
    timer.unref();
    this.#ending.signal.addEventListener('abort', () => clearInterval(timer), { once: true });
  }

  #over(why: unknown): void {
    if (this.#ending.signal.aborted) return;
    this.#ending.abort();
    this.context.fail('this worker cannot go on', why);
  }

  #bundle(callbacks: CallbackSettings): Promise<string> {
    const { catalog, resultFormat, limits, livenessMs, traces } = this.options;
    const workflowSettings = Object.fromEntries(
      this.loaded.registered.map(({ entry, settings }) => [entry.name, settings]),
    );
    return bundleSandbox(this.loaded, {
      ...{ catalog, resultFormat, limits, livenessMs, traces, callbacks, workflowSettings },
    });
  }

  async #create(code: string): Promise<Worker> {
    const { temporal, catalog, slots, cacheSize, watchdog } = this.options;
    const { address, namespace, apiKey, tls } = temporal;
    const connection = await NativeConnection.connect({ address, apiKey, tls: tlsOptions(tls) });
    const options: TemporalOptions & { isolateExecutionTimeout: number } = {
      connection,
      namespace,
      taskQueue: catalog,
      identity: this.#identity,
      workflowBundle: { code },
      // Only tells which code it is: the cluster gives tasks to any version.
      workerDeploymentOptions: {
        version: { deploymentName: deploymentNameOf(catalog), buildId: buildIdOf(this.#version) },
        useWorkerVersioning: false,
      },
      reuseV8Context: true,
      // Temporal keeps none, or two at least.
      maxCachedWorkflows: cacheSize === 1 ? 2 : cacheSize,
      maxConcurrentWorkflowTaskExecutions:
        cacheSize > 0 ? Math.min(slots.turns, Math.max(2, cacheSize)) : slots.turns,
      maxConcurrentActivityTaskExecutions: slots.steps,
      stickyQueueScheduleToStartTimeout: STICKY_MS,
      maxHeartbeatThrottleInterval: HEARTBEAT_INTERVAL_MS,
      defaultHeartbeatThrottleInterval: HEARTBEAT_INTERVAL_MS,
      // Temporal ends a turn that takes longer, and tries it again later; not among its documented options.
      isolateExecutionTimeout: watchdog.turnTimeoutMs,
      activities: { default: intercepted },
      interceptors: {
        activity: [(context) => ({ inbound: { execute: (input) => this.#steps.execute(context, input) } })],
      },
      sinks: {
        [SINK]: {
          closing: {
            fn: (run: WorkflowInfo, status: ClosedStatus) => this.#closing(run, status),
            callDuringReplay: false,
          },
          goingOn: {
            fn: (run: WorkflowInfo) => void this.#goesOn(run),
            callDuringReplay: false,
          },
          wasReset: {
            // The turn is over when this is.
            fn: (run: WorkflowInfo, children: string[]) => this.#tellOfEndedChildren(run, children),
            callDuringReplay: false,
          },
          failed: {
            fn: (run: WorkflowInfo, type: string, message: string, activityType?: string) =>
              this.#failed(run, { kind: 'application', type, message, activityType }),
            callDuringReplay: false,
          },
          write: {
            fn: (_info, level: keyof Log, fields: string, message: string) =>
              this.context.log[level](JSON.parse(fields) as object, message),
            // The run itself is silent while it is replayed.
            callDuringReplay: true,
          },
        },
      },
    };
    try {
      return await Worker.create(options);
    } catch (error) {
      await connection.close();
      throw error;
    }
  }

  #closing(
    { workflowId, runId, workflowType, taskQueue, startTime }: WorkflowInfo,
    status: ClosedStatus,
  ): void {
    this.context.closing({
      ...{ workflowId, runId, workflowType, catalog: taskQueue, status },
      startedAt: startTime.getTime(),
      completedAt: Date.now(),
    });
  }

  /** A run that is retried is told of as failed each time, as on the embedded engine. */
  #failed({ workflowId, runId, workflowType }: WorkflowInfo, failure: Failure): void {
    this.#failures.runFailed({ workflowId, runId, workflowType, status: 'failed', failure });
  }

  /** What `attempt` gives, however long the cluster is away; undefined when the worker has to end first. */
  async #persist<T>(attempt: () => Promise<T>): Promise<T | undefined> {
    const { signal } = this.#ending;
    let saidAt = Number.NEGATIVE_INFINITY;
    let slowTries = 0;
    for (let pauseMs = FIRST_PAUSE_MS; !signal.aborted; pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS)) {
      try {
        return await attempt();
      } catch (error) {
        if (isOutOfTime(error) && ++slowTries < MAX_SLOW_TRIES) continue;
        if (!isAway(error)) throw error;
        this.#onAway();
        if (performance.now() - saidAt >= REMIND_MS) {
          saidAt = performance.now();
          const { address } = this.options.temporal;
          const why = error instanceof Error ? error.message : String(error);
          this.context.log.warn({ address }, `the Temporal cluster is waited for: ${why}`);
        }
      }
      await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
    }
    return undefined;
  }
}

/** Steps are executed where Temporal's worker calls activities, since only there are their headers known. */
function intercepted(): never {
  throw new Error('a step was not executed');
}

/** Temporal puts it before the build id, with a dot between them. */
const deploymentNameOf = (catalog: string): string => catalog.replaceAll('.', '_');

/** Undefined while it polls for turns and steps. */
function whyItStands({
  runState,
  workflowPollerState,
  activityPollerState,
}: WorkerStatus): string | undefined {
  if (runState !== 'RUNNING') return `Temporal's worker is ${runState}`;
  if (workflowPollerState !== 'POLLING') return `Temporal's poller of turns is ${workflowPollerState}`;
  if (activityPollerState !== 'POLLING') return `Temporal's poller of steps is ${activityPollerState}`;
  return undefined;
}

const CONNECTION_ERRORS: ReadonlySet<string> = new Set([
  'TransportError',
  'ServiceError',
  'GrpcServiceError',
]);

/**
 * Temporal gives the evaluation of all code the time of one turn. That it ends we know, since our own sandbox has been
 * through it: here it was the machine that had too little time.
 */
const isOutOfTime = (error: unknown): boolean =>
  error instanceof Error && /^Script execution timed out/.test(error.message);

function isAway(error: unknown): boolean {
  if (error instanceof PerdureError) return error.name === 'EngineUnavailableError';
  return error instanceof Error && CONNECTION_ERRORS.has(error.name);
}
