/** An engine for each test with a worker that answers for whole families of runs, and what the disk held after any commit. */
import { afterEach, beforeEach } from 'vitest';
import type { Limits } from '../../core/bounds/limits.js';
import type { Command } from '../../core/history/command.js';
import type { RunRef } from '../../engine.js';
import type { EmbeddedEngine } from '../index.js';
import { CATALOG, Folder, ScriptedWorker } from '../scripted-worker.fixture.js';
import type { Tables } from '../store/tables/tables.js';

const PATIENCE_MS = 60_000;

export class FamilyStage {
  folder!: Folder;
  engine!: EmbeddedEngine;
  worker!: ScriptedWorker;
  /** As the last commit has left them. */
  tables!: Tables;
  /** Copies of the folder that a test has taken, removed after it. */
  killed: Folder[] = [];
  onCommit: (runs: number) => void = () => {};

  constructor(private readonly limits: Partial<Limits>) {
    beforeEach(() => {
      this.folder = new Folder();
      this.killed = [];
      this.onCommit = () => {};
      this.engine = this.opened(this.folder);
      this.worker = new ScriptedWorker(this.engine);
    });
    afterEach(async () => {
      for (const each of [this.folder, ...this.killed]) await each.remove();
    });
  }

  opened(place: Folder): EmbeddedEngine {
    return place.open({
      limits: this.limits,
      inspectCommit: (tables, runs) => {
        this.tables = tables;
        this.onCommit(runs.size);
      },
    });
  }

  /** From now on every commit is followed by a kill. */
  killAfterEachCommit(): void {
    this.onCommit = () => this.killed.push(this.folder.asKilled());
  }

  /** What a start makes of every copy that a kill has left; another run is started, so that there is a commit to look at. */
  async afterEachKill(look: () => Promise<void>): Promise<void> {
    this.onCommit = () => {};
    await this.engine.close();
    for (const each of this.killed) {
      this.engine = this.opened(each);
      this.worker = new ScriptedWorker(this.engine);
      await this.start('other');
      await look();
      await this.engine.close();
    }
  }

  start(workflowId: string): Promise<RunRef> {
    return this.engine.start({ workflowType: 'flow', catalog: CATALOG, input: ['1'], workflowId });
  }

  /** Answers the turns that come by the ids of their runs, and those of others with nothing, until all is quiet. */
  async answer(answers: Record<string, Command[]>): Promise<void> {
    this.worker.takeOver((message) => {
      if (message.kind !== 'turn') return false;
      const commands = answers[message.workflowId] ?? [];
      delete answers[message.workflowId];
      this.worker.completeTurn(message, commands);
      return true;
    });
    await this.until(() => Object.keys(answers).length === 0 && this.engine.load().turnsQueued === 0);
    this.engine.flush();
  }

  async until(holds: () => boolean): Promise<void> {
    const patience = performance.now() + PATIENCE_MS;
    while (!holds()) {
      if (performance.now() > patience) throw new Error(`it never came; open are ${this.open.join(', ')}`);
      await new Promise(setImmediate);
    }
  }

  /** Ids of the runs that are open, the newest first. */
  get open(): string[] {
    return this.tables.runs
      .list({ status: 'running' }, { from: 0, before: Number.MAX_SAFE_INTEGER }, 1_000)
      .map((row) => row.workflow_id);
  }
}
