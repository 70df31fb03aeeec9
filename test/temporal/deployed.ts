/** A Temporal server of its own with workers that have loaded the given files, and an engine: for the tests of one file. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { HistoryEvent } from '../../src/core/history/event.js';
import type { Log } from '../../src/core/log.js';
import type { RunOutcome, RunRef, RunSelector } from '../../src/engine.js';
import {
  type StartTemporalWorkersOptions,
  startTemporalWorkers,
  TemporalEngine,
} from '../../src/temporal/index.js';
import type { WorkerSupervisor } from '../../src/worker/supervision/supervisor.js';
import { DevServer, type DevServerOptions } from './dev-server.js';

export interface Line {
  level: string;
  fields: Record<string, unknown>;
  message: string;
}

export interface DeployedOptions {
  /** By their paths in the folder. */
  files: Record<string, string>;
  server?: DevServerOptions;
  workers?: Partial<StartTemporalWorkersOptions>;
}

/** Long enough for a busy machine. */
const WAIT_MS = 60_000;

export class Deployed {
  readonly catalog = 'deployed';
  /** What the workers have said. */
  readonly lines: Line[] = [];
  readonly #opened: TemporalEngine[] = [];
  workers!: WorkerSupervisor;
  engine!: TemporalEngine;

  private constructor(
    readonly server: DevServer,
    readonly folder: string,
    private readonly options: DeployedOptions,
  ) {}

  static async start(options: DeployedOptions): Promise<Deployed> {
    const folder = mkdtempSync(join(tmpdir(), 'perdure-deployed-'));
    for (const [path, text] of Object.entries(options.files)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
    const deployed = new Deployed(await DevServer.start(options.server), folder, options);
    try {
      await deployed.startWorkers();
      deployed.engine = await deployed.open();
    } catch (error) {
      await deployed.stop();
      throw error;
    }
    return deployed;
  }

  async startWorkers(): Promise<void> {
    this.workers = startTemporalWorkers({
      directory: this.folder,
      temporal: { address: this.server.address, namespace: this.server.namespace },
      catalog: this.catalog,
      count: 1,
      resultFormat: 'current',
      log: logInto(this.lines),
      ...this.options.workers,
    });
    await this.workers.ready;
  }

  /** Another engine, by way of that address. */
  async open(address = this.server.address): Promise<TemporalEngine> {
    const engine = await TemporalEngine.open({ settings: { address, namespace: this.server.namespace } });
    this.#opened.push(engine);
    return engine;
  }

  start(workflowType: string, input?: unknown, workflowId?: string): Promise<RunRef> {
    const { catalog } = this;
    return this.engine.start({
      workflowType,
      catalog,
      input: input === undefined ? [] : [JSON.stringify(input)],
      ...(workflowId !== undefined && { workflowId }),
    });
  }

  /** Of the last run of the chain. */
  async outcome(run: RunSelector): Promise<RunOutcome> {
    const outcome = await this.engine.outcome(run, { waitMs: WAIT_MS, followChain: true });
    if (!outcome) throw new Error(`${run.workflowId} is still open after ${WAIT_MS} ms`);
    return outcome;
  }

  async history(run: RunSelector): Promise<HistoryEvent[]> {
    const events: HistoryEvent[] = [];
    for (;;) {
      const page = await this.engine.history(run, { afterEventId: events.length, limit: 1_000 });
      events.push(...page.events);
      if (page.events.length < 1_000) return events;
    }
  }

  async stop(): Promise<void> {
    await this.workers?.stop(100);
    await Promise.all(this.#opened.map((engine) => engine.close()));
    await this.server.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export function logInto(lines: Line[]): Log {
  const levels = ['debug', 'info', 'warn', 'error'] as const;
  return Object.fromEntries(
    levels.map((level) => [
      level,
      (fields: Record<string, unknown>, message: string) => lines.push({ level, fields, message }),
    ]),
  ) as unknown as Log;
}
