/** A worker that a test drives by hand: it keeps what the engine sends and answers what the test says. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RegisteredWorkflow, WorkflowSettings } from '../core/catalog.js';
import type { Command } from '../core/command.js';
import type { Limits } from '../core/limits.js';
import { DEFAULT_STEP_RETRY } from '../core/retry.js';
import type { FromWorker, QueryAnswer, StepTask, ToWorker, TurnTask } from '../core/task.js';
import type { WorkerSession } from '../engine.js';
import { EmbeddedEngine } from './index.js';

export const CATALOG = 'default';

/** A clock that only moves when it is told to. */
export class HandClock {
  constructor(public ms = 1_800_000_000_000) {}
  now(): number {
    return this.ms;
  }
}

export function workflow(name: string, settings: WorkflowSettings = {}): RegisteredWorkflow {
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
  };
}

export class ScriptedWorker {
  readonly #session: WorkerSession;
  #received: ToWorker[] = [];
  #waiting: (() => void) | undefined;

  constructor(
    engine: EmbeddedEngine,
    options: {
      turns?: number;
      steps?: number;
      workflows?: RegisteredWorkflow[];
      catalog?: string;
      codeId?: string;
    } = {},
  ) {
    this.#session = engine.connect((message) => {
      this.#received.push(message);
      this.#waiting?.();
    });
    this.say({
      kind: 'register',
      catalog: options.catalog ?? CATALOG,
      workflows: options.workflows ?? [workflow('flow')],
      slots: { turns: options.turns ?? 100, steps: options.steps ?? 100 },
      resultFormat: 'current',
      identity: 'scripted',
      codeId: options.codeId ?? 'v1',
    });
  }

  say(message: FromWorker): void {
    this.#session.receive(message);
  }

  lose(): void {
    this.#session.disconnected();
  }

  /** The next message of that kind; what comes before it stays for others. */
  async next<K extends ToWorker['kind']>(kind: K): Promise<Extract<ToWorker, { kind: K }>> {
    for (;;) {
      const index = this.#received.findIndex((message) => message.kind === kind);
      if (index >= 0) return this.#received.splice(index, 1)[0] as Extract<ToWorker, { kind: K }>;
      await new Promise<void>((resolve) => {
        this.#waiting = resolve;
      });
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

export const complete = (result = '"done"'): Command => ({ kind: 'completeRun', result });
export const timer = (id: number, durationMs: number): Command => ({
  kind: 'startTimer',
  timerId: String(id),
  durationMs,
});

/** A data folder that is removed after the test, and engines on it that are closed. */
export class Folder {
  readonly path = mkdtempSync(join(tmpdir(), 'perdure-embedded-'));
  readonly #engines: EmbeddedEngine[] = [];

  open(options: { clock?: HandClock; limits?: Partial<Limits> } = {}): EmbeddedEngine {
    const engine = EmbeddedEngine.open({ dataDir: this.path, ...options });
    this.#engines.push(engine);
    return engine;
  }

  async remove(): Promise<void> {
    for (const engine of this.#engines) await engine.close();
    rmSync(this.path, { recursive: true, force: true });
  }
}
