/** A worker that a test drives by hand: it keeps what the engine sends and answers what the test says. */
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RegisteredWorkflow, WorkflowSettings } from '../core/catalog.js';
import type { Command } from '../core/history/command.js';
import type { ParentClosePolicy } from '../core/history/event.js';
import { invariant } from '../core/invariant.js';
import { DEFAULT_STEP_RETRY } from '../core/run/retry.js';
import type { FromWorker, QueryAnswer, StepTask, ToWorker, TurnTask, WorkerPool } from '../core/task.js';
import type { WorkerSession } from '../engine.js';
import { checkEverything } from './commit-check.fixture.js';
import { EmbeddedEngine, type EmbeddedEngineOptions } from './index.js';
import { OnDisk } from './on-disk.fixture.js';
import { checkDataFolder } from './store/check/check.js';

export const CATALOG = 'default';

/** A clock that only moves when it is told to. With `offsetMs` somebody has set it: time itself has not passed. */
export class HandClock {
  offsetMs = 0;
  constructor(public ms = 1_800_000_000_000) {}
  now(): number {
    return this.ms + this.offsetMs;
  }
  monotonicMs(): number {
    return this.ms;
  }
  pass(ms: number): void {
    this.ms += ms;
  }
}

/** A scripted test that waits longer than this waits for what never comes. */
const PATIENCE_MS = 60_000;

/** With `stepNames` its worker says which steps it has; else it is taken to have any. */
export function workflow(
  name: string,
  settings: WorkflowSettings = {},
  stepNames?: string[],
): RegisteredWorkflow {
  return {
    entry: {
      name,
      description: null,
      path: `${name}/workflow.ts`,
      inputSchema: null,
      outputSchema: null,
      aliases: [],
      steps: [],
      signals: [],
      queries: [],
      updates: [],
    },
    settings,
    declaresSignals: false,
    ...(stepNames && { stepNames }),
  };
}

export class ScriptedWorker {
  readonly #session: WorkerSession;
  #received: ToWorker[] = [];
  #waiting: (() => void) | undefined;
  #autopilot: ((message: ToWorker) => boolean) | undefined;

  constructor(
    engine: EmbeddedEngine,
    options: {
      turns?: number;
      steps?: number;
      workflows?: RegisteredWorkflow[];
      catalog?: string;
      codeId?: string;
      versionName?: string;
      workerId?: string;
      pool?: WorkerPool;
      /** Does not say that it is there when it is asked. */
      isSilent?: boolean;
      /** Told when what was sent is to leave. */
      onFlush?: () => void;
    } = {},
  ) {
    const onDisk = OnDisk.of(engine);
    const receive = (message: ToWorker) => {
      onDisk?.sent(message);
      if (message.kind === 'ping' && !options.isSilent) this.say({ kind: 'pong' });
      if (this.#autopilot?.(message)) return;
      this.#received.push(message);
      this.#waiting?.();
    };
    this.#session = engine.connect(receive, undefined, options.onFlush);
    this.say({
      kind: 'register',
      catalog: options.catalog ?? CATALOG,
      workflows: options.workflows ?? [workflow('flow')],
      slots: { turns: options.turns ?? 100, steps: options.steps ?? 100 },
      resultFormat: 'current',
      identity: 'scripted',
      codeId: options.codeId ?? 'v1',
      versionName: options.versionName,
      workerId: options.workerId,
      pool: options.pool,
    });
  }

  say(message: FromWorker): void {
    this.#session.receive(message);
  }

  lose(): void {
    this.#session.disconnected();
  }

  /** From now on messages that `take` says yes to are its own, those that wait already included. */
  takeOver(take: (message: ToWorker) => boolean): void {
    this.#autopilot = take;
    this.#received = this.#received.filter((message) => !take(message));
  }

  /** The next message of that kind; what comes before it stays for others. */
  async next<K extends ToWorker['kind']>(kind: K): Promise<Extract<ToWorker, { kind: K }>> {
    // From here on, whatever else comes meanwhile: a hang is told by what was waited for.
    let impatience: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      impatience = setTimeout(() => {
        const there = this.#received.map((message) => message.kind).join(', ') || 'nothing';
        reject(new Error(`the engine has sent no ${kind} in ${PATIENCE_MS} ms; there is ${there}`));
      }, PATIENCE_MS);
    });
    try {
      for (;;) {
        const index = this.#received.findIndex((message) => message.kind === kind);
        if (index >= 0) return this.#received.splice(index, 1)[0] as Extract<ToWorker, { kind: K }>;
        const more = new Promise<void>((resolve) => {
          this.#waiting = resolve;
        });
        await Promise.race([more, late]);
      }
    } finally {
      clearTimeout(impatience);
    }
  }

  /** What has come and was not taken. */
  pending(kind: ToWorker['kind']): ToWorker[] {
    return this.#received.filter((message) => message.kind === kind);
  }

  completeTurn({ turnId, runId }: TurnTask, commands: Command[] = [], answers: QueryAnswer[] = []): void {
    this.say({ kind: 'turnCompleted', turnId, runId, commands, answers });
  }

  /** Takes the next turn and answers it. */
  async turn(...commands: Command[]): Promise<TurnTask> {
    const task = await this.next('turn');
    this.completeTurn(task, commands);
    return task;
  }

  /** Takes the next turn and says that its code does not fit the run's history. */
  async misfit(message = 'the code does not fit'): Promise<TurnTask> {
    const task = await this.next('turn');
    const { turnId, runId } = task;
    const failure = { kind: 'application', type: 'NonDeterminismError', message } as const;
    this.say({ kind: 'turnFailed', turnId, runId, cause: 'NON_DETERMINISTIC_ERROR', failure });
    return task;
  }

  completeStep({ runId, scheduledEventId, attempt }: StepTask, result = 'null'): void {
    this.say({ kind: 'stepCompleted', runId, scheduledEventId, attempt, result });
  }

  failStep({ runId, scheduledEventId, attempt }: StepTask, message = 'no', type = 'Error'): void {
    this.say({
      kind: 'stepFailed',
      runId,
      scheduledEventId,
      attempt,
      failure: { kind: 'application', type, message },
    });
  }
}

export function step(
  id: number,
  stepName = 'work',
  settings: Partial<Extract<Command, { kind: 'scheduleStep' }>['settings']> = {},
): Command {
  return {
    kind: 'scheduleStep',
    activityId: String(id),
    stepName,
    input: [],
    settings: { startToCloseTimeoutMs: 60_000, retry: DEFAULT_STEP_RETRY, ...settings },
  };
}

/** The retry policy of a step that may be tried only once. */
export const once = {
  initialIntervalMs: 1,
  backoffCoefficient: 1,
  maximumIntervalMs: 1,
  maximumAttempts: 1,
  nonRetryableErrorTypes: [],
};

export const child = (
  childSeq: number,
  workflowId: string,
  parentClosePolicy: ParentClosePolicy = 'REQUEST_CANCEL',
): Command => ({
  kind: 'startChild',
  childSeq: String(childSeq),
  workflowId,
  workflowType: 'flow',
  input: [],
  parentClosePolicy,
});

export const complete = (result = '"done"'): Command => ({ kind: 'completeRun', result });
export const timer = (id: number, durationMs: number): Command => ({
  kind: 'startTimer',
  timerId: String(id),
  durationMs,
});

/** A data folder that is removed after the test, and engines on it that are closed. Nothing may be wrong with it then. */
export class Folder {
  readonly path = mkdtempSync(join(tmpdir(), 'perdure-embedded-'));
  readonly #engines: EmbeddedEngine[] = [];
  readonly #watched: OnDisk[] = [];

  /** `isDamaged`: the test does what it can to make something wrong. */
  constructor(private readonly isDamaged = false) {}

  open(options: Partial<EmbeddedEngineOptions> = {}): EmbeddedEngine {
    const onDisk = new OnDisk();
    const engine = EmbeddedEngine.open({
      dataDir: this.path,
      ...options,
      inspectCommit: (tables, runs) => {
        onDisk.tables = tables;
        if (!this.isDamaged) checkEverything(tables, runs);
        options.inspectCommit?.(tables, runs);
      },
    });
    this.#engines.push(engine);
    if (!this.isDamaged) {
      onDisk.watch(engine);
      this.#watched.push(onDisk);
    }
    return engine;
  }

  /** The folder as a kill at this moment would leave it: what was written, without an orderly end. */
  asKilled(): Folder {
    const copy = new Folder(this.isDamaged);
    cpSync(this.path, copy.path, { recursive: true });
    return copy;
  }

  async close(): Promise<void> {
    for (const engine of this.#engines) await engine.close();
  }

  async remove(): Promise<void> {
    await this.close();
    for (const { tooEarly } of this.#watched.splice(0)) {
      invariant(tooEarly.length === 0, `before it was on disk ${tooEarly.join('; ')}`);
    }
    if (this.#engines.length > 0 && !this.isDamaged) {
      const { problems } = checkDataFolder(this.path);
      invariant(problems.length === 0, `the data folder is left with problems: ${JSON.stringify(problems)}`);
    }
    rmSync(this.path, { recursive: true, force: true });
  }
}
