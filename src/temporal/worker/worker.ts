/**
 * A worker of a Temporal cluster: runs the turns and steps of one catalog, and sees to it that the cluster knows it.
 *
 * 1. A cluster that is away is waited for, whether at the start or later; the workflows are no less ready for it.
 * 2. What Temporal's library cannot go on after ends the process, and another one takes its place.
 */
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { NativeConnection, type WorkerOptions as TemporalOptions, Worker } from '@temporalio/worker';
import type { WorkflowInfo } from '@temporalio/workflow';
import { PerdureError } from '../../core/errors.js';
import type { Log } from '../../core/log.js';
import type { ClosedStatus } from '../../core/run.js';
import type { TurnLimits } from '../../core/turn-limits.js';
import type { TracePlan } from '../../engine.js';
import { ABORT_MS, within } from '../../worker/grace.js';
import type { LoadedWorkflows } from '../../worker/loader.js';
import type { ProcessWorker, WorkerContext } from '../../worker/process.js';
import { createSandbox } from '../../worker/sandbox/host.js';
import type { StepRunnerOptions } from '../../worker/step-runner.js';
import type { CommonWorkerOptions } from '../../worker/supervisor.js';
import { Watchdog } from '../../worker/watchdog.js';
import { refuseBroken } from '../../worker/worker.js';
import { Cluster, type TemporalSettings, tlsOptions } from '../connection.js';
import { SINK } from '../sandbox/deployment.js';
import { bundleSandbox } from './bundle.js';
import { installRuntime } from './core-log.js';
import { register } from './registration.js';
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
/** Between two lines in the log that say the same. */
const REMIND_MS = 60_000;

export class TemporalWorker implements ProcessWorker {
  readonly started: Promise<void>;
  readonly #steps: Steps;
  readonly #identity = `${process.pid}@${hostname()}`;
  readonly #ending = new AbortController();
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
    const { bundles: workflows, library, sourceLines: stacks, directory } = loaded;
    refuseBroken(createSandbox({ workflows, library, stacks, cacheSize: 0, log }), directory);
    const watchdog = new Watchdog(options.watchdog, () => this.#steps.stopOverdue());
    const signs = new SignsOfLife({
      settings: options.temporal,
      identity: this.#identity,
      counters: watchdog.counters,
    });
    const find: StepRunnerOptions['find'] = (workflowType, stepName) =>
      loaded.steps.find(workflowType, stepName);
    const { payloadBytes } = options;
    this.#steps = new Steps({ find, log, payloadBytes, watch: watchdog }, signs);
    installRuntime(log);
    const start = this.#start();
    this.started = Promise.race([start, this.#away]);
    // Nobody waits any more for what comes to light only once the cluster is there.
    this.#away.then(() => start).catch((error: unknown) => context.fail('this worker cannot begin', error));
  }

  async drain(graceMs: number): Promise<void> {
    this.#ending.abort();
    const running = this.#running;
    if (!running) return;
    running.worker.shutdown();
    const idle = this.#steps.idle();
    await within(graceMs, idle);
    this.#steps.stopAll('the worker is shutting down');
    // A step that listens to its signal ends now, and its answer still counts.
    await within(ABORT_MS, idle);
    this.#steps.abandon('the worker has shut down');
    await within(ABORT_MS, running.ended);
  }

  async close(): Promise<void> {
    await this.drain(0);
  }

  async #start(): Promise<void> {
    const code = await this.#bundle();
    const cluster = await Cluster.open(this.options.temporal, this.context.log);
    const { catalog, resultFormat, traces } = this.options;
    try {
      const identity = this.#identity;
      const { loaded } = this;
      await this.#persist(() =>
        register(
          cluster,
          { catalog, loaded, resultFormat, identity, traces: traces?.runs },
          this.context.log,
        ),
      );
    } finally {
      await cluster.close();
    }
    const worker = await this.#persist(() => this.#create(code));
    if (!worker) return;
    const ended = worker.run().catch((error: unknown) => {
      if (!this.#ending.signal.aborted) this.context.fail('this worker cannot go on', error);
    });
    this.#running = { worker, ended };
  }

  #bundle(): Promise<string> {
    const { catalog, resultFormat, limits, livenessMs, traces } = this.options;
    const workflowSettings = Object.fromEntries(
      this.loaded.registered.map(({ entry, settings }) => [entry.name, settings]),
    );
    return bundleSandbox(this.loaded, {
      ...{ catalog, resultFormat, limits, livenessMs, traces, workflowSettings },
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

  /** What `attempt` gives, however long the cluster is away; undefined when the worker has to end first. */
  async #persist<T>(attempt: () => Promise<T>): Promise<T | undefined> {
    const { signal } = this.#ending;
    let saidAt = Number.NEGATIVE_INFINITY;
    for (let pauseMs = FIRST_PAUSE_MS; !signal.aborted; pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS)) {
      try {
        return await attempt();
      } catch (error) {
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

const CONNECTION_ERRORS: ReadonlySet<string> = new Set([
  'TransportError',
  'ServiceError',
  'GrpcServiceError',
]);

function isAway(error: unknown): boolean {
  if (error instanceof PerdureError) return error.name === 'EngineUnavailableError';
  return error instanceof Error && CONNECTION_ERRORS.has(error.name);
}
