/** An engine on a folder of its own with its traces, and a worker that ends runs as the test says. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { vi } from 'vitest';
import type { Limits, TraceLimits } from '../../src/core/bounds/limits.js';
import type { WorkflowSettings } from '../../src/core/catalog.js';
import type { Command } from '../../src/core/history/command.js';
import type { Log } from '../../src/core/log.js';
import type { EmbeddedEngine } from '../../src/embedded/index.js';
import {
  CATALOG,
  complete,
  Folder,
  HandClock,
  ScriptedWorker,
  workflow,
} from '../../src/embedded/scripted-worker.fixture.js';
import type { Engine, RunRef } from '../../src/engine.js';
import { type ObjectStoreSettings, type TraceLog, type TraceMode, Traces } from '../../src/trace/index.js';

export interface SceneOptions {
  mode: TraceMode;
  store?: ObjectStoreSettings;
  limits?: Partial<TraceLimits>;
  engineLimits?: Partial<Limits>;
  settings?: WorkflowSettings;
  /** What traces see of the engine. */
  seen?: (engine: EmbeddedEngine) => Engine;
}

export class Scene {
  readonly clock = new HandClock(Date.now());
  readonly warnings: string[] = [];
  readonly #folder = new Folder();
  engine!: EmbeddedEngine;
  worker!: ScriptedWorker;
  traces!: Traces;

  static async open(options: SceneOptions): Promise<Scene> {
    const scene = new Scene();
    await scene.start(options);
    return scene;
  }

  get dataDir(): string {
    return this.#folder.path;
  }

  get folder(): string {
    return join(this.dataDir, 'traces');
  }

  async start({ engineLimits, settings, seen, ...options }: SceneOptions): Promise<void> {
    this.engine = this.#folder.open({ clock: this.clock, limits: engineLimits });
    this.worker = new ScriptedWorker(this.engine, { workflows: [workflow('flow', settings)] });
    const engine = seen?.(this.engine) ?? this.engine;
    const note = (_fields: object, message: string) => void this.warnings.push(message);
    const log: Log = { debug() {}, info() {}, warn: note, error: note };
    this.traces = await Traces.open({ ...options, engine, watch: this.engine, dataDir: this.dataDir, log });
  }

  async stop(): Promise<void> {
    await this.traces.close();
    await this.engine.close();
  }

  async restart(options: SceneOptions): Promise<void> {
    await this.stop();
    await this.start(options);
  }

  async remove(): Promise<void> {
    await this.traces.close();
    await this.#folder.remove();
  }

  startRun(workflowId?: string, input: unknown = null): Promise<RunRef> {
    const request = { workflowType: 'flow', catalog: CATALOG, input: [JSON.stringify(input)] };
    return this.engine.start({ ...request, workflowId });
  }

  /** Starts a run and ends it. */
  async run(end: Command = complete(), workflowId?: string): Promise<RunRef> {
    const run = await this.startRun(workflowId);
    await this.worker.turn(end);
    await this.engine.outcome(run, { waitMs: 10_000 });
    return run;
  }

  async find(run: RunRef): Promise<TraceLog> {
    return this.traces.find(await this.engine.describe(run));
  }

  async saved(run: RunRef) {
    return (await this.engine.outcome(run, { followChain: false }))?.trace;
  }

  /** Lets retention remove all closed runs; resolves when they are gone. */
  async expire(): Promise<void> {
    const { runs } = await this.engine.list({}, { limit: 1_000 });
    const expected = runs.filter(({ status }) => status !== 'running').length;
    const gone = new Promise<void>((resolve) => {
      let removed = 0;
      const stop = this.engine.watch({
        removed: () => {
          if (++removed < expected) return;
          stop();
          resolve();
        },
      });
    });
    this.clock.ms += 3_600_000;
    await gone;
  }

  path(run: RunRef): string {
    return join(this.folder, `${run.runId}.json`);
  }

  has(run: RunRef): boolean {
    return existsSync(this.path(run));
  }

  read(run: RunRef): Record<string, unknown> {
    return JSON.parse(readFileSync(this.path(run), 'utf8'));
  }

  names(): string[] {
    return readdirSync(this.folder).sort();
  }
}

/** Retention that looks often enough for a test. */
export const SHORT_RETENTION: Partial<Limits> = { retentionMs: 20 };

/** Waits until it holds, and fails when that takes longer than anything here may. */
export const until = (holds: () => unknown) =>
  vi.waitFor(async () => {
    if (!(await holds())) throw new Error(`it never came to hold: ${holds}`);
  }, 60_000);
