/**
 * One data folder, the server that has it, and the oracle: started, loaded, killed and looked at as often as it takes.
 * All faults are made by whoever drives it; what must hold is looked at here.
 */
import { cpSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort, Service, temporaryFolder, untilGone } from '../recovery/service.js';
import { checkDisk, checkEffects, type Verdict } from './checks.js';
import { fits } from './chores.js';
import { checkCosts } from './costs.js';
import { readDisk } from './disk.js';
import { readEffects } from './effects.js';
import { Load } from './load.js';
import { ENDINGS, monotonicMs, Operations } from './operations.js';
import { Random } from './random.js';
import { Wire } from './wire.js';

export const WORKFLOWS = fileURLToPath(new URL('workflows', import.meta.url));

/** I7: what can go on has gone on by then. Generous, for machines that do other things as well. */
const SETTLE_MS = 60_000;

/** After a kill the server answers again within this; what takes longer hangs, also on a machine that others keep busy. */
const READY_MS = 60_000;

/** Whoever ends this process in the middle of a trial leaves no server behind. */
const LAUNCHED = new Set<Service>();
process.once('exit', () => {
  for (const service of LAUNCHED) if (!service.isGone) process.kill(service.pid, 'SIGKILL');
});

export interface TrialOptions {
  seed: number;
  flags?: string[];
  /** The clock is set meanwhile, so what steps wrote down cannot be held against it. */
  setsClock?: boolean;
  /** Of all processes of this trial; a start may add to it. */
  env?: NodeJS.ProcessEnv;
}

export class Trial {
  operations = new Operations();
  readonly random: Random;
  readonly load: Load;
  readonly wire: Wire;
  readonly verdict: Verdict = { lost: [], twice: [], broken: [] };
  /** From the launch of a server until it answered. */
  readonly readyMs: number[] = [];
  kills = 0;
  service: Service | undefined;
  readonly #seenPids = new Set<number>();

  private constructor(
    readonly options: TrialOptions,
    readonly folder: ReturnType<typeof temporaryFolder>,
    port: number,
  ) {
    this.random = new Random(options.seed);
    this.wire = new Wire(port, (call) => this.verdict.broken.push(call));
    this.load = new Load(this.wire, this.operations, this.effects, this.random, `s${options.seed}`);
  }

  static async prepare(options: TrialOptions): Promise<Trial> {
    return new Trial(options, temporaryFolder(), await freePort());
  }

  get dataDir(): string {
    return join(this.folder.path, 'data');
  }

  get effects(): string {
    return join(this.folder.path, 'effects');
  }

  launch(env: NodeJS.ProcessEnv = {}, dataDir = this.dataDir, flags: string[] = []): Service {
    this.service = Service.launch({
      workflows: WORKFLOWS,
      dataDir,
      port: this.wire.port,
      flags: ['--spare-workers', '0', '--log-level', 'warn', ...(this.options.flags ?? []), ...flags],
      env: { ...this.options.env, ...env },
    });
    this.#seenPids.add(this.service.pid);
    LAUNCHED.add(this.service);
    return this.service;
  }

  /** Launches, and resolves when it answers; workers may still be loading. */
  async start(env: NodeJS.ProcessEnv = {}): Promise<Service> {
    const begun = performance.now();
    const service = this.launch(env);
    await this.untilAnswering(service);
    this.readyMs.push(performance.now() - begun);
    return service;
  }

  /** A server that ends before that is a failure, unless it was meant to. */
  async untilAnswering(service: Service, isMeantToEnd: () => boolean = () => false): Promise<void> {
    const deadline = performance.now() + READY_MS;
    for (;;) {
      // A catalog that nobody has registered yet would refuse the first starts.
      const { status, text } = await this.wire.get('/workflow/catalog');
      if (status === 200 && text.includes('"book"')) return;
      if (service.isGone) {
        if (isMeantToEnd()) return;
        throw new Error(`the server ended instead of starting: ${service.output}`);
      }
      if (performance.now() > deadline) {
        throw new Error(`the server did not answer within ${READY_MS} ms: ${service.output}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  /** kill -9, whatever it does; its workers end by themselves. */
  async kill(): Promise<void> {
    const { service } = this;
    if (!service) return;
    for (const pid of service.workerPids()) this.#seenPids.add(pid);
    await service.kill();
    this.ended();
    this.kills++;
  }

  /** The server is gone: nobody waits for its answers any more. */
  ended(): void {
    this.service = undefined;
    this.wire.cut();
  }

  /** What is on disk, with no server, against what was known at an instant. */
  lookAtDisk(dataDir = this.dataDir, instant = Infinity): Verdict {
    const operations = instant === Infinity ? this.operations : this.operations.asOf(instant);
    const disk = readDisk(dataDir);
    const found = checkDisk(disk, operations, this.load.servedBefore(instant));
    const ofCosts = checkCosts(disk, readEffects(this.effects), this.load.spending.toldBefore(instant));
    for (const kind of ['lost', 'twice', 'broken'] as const) found[kind].push(...ofCosts[kind]);
    this.#add(found);
    return found;
  }

  /** The world goes on from `dataDir`, as of an instant: what came later was cut off by the power. */
  rollBack(instant: number, dataDir: string): void {
    this.operations = this.operations.asOf(instant);
    this.load.rollBack(instant, this.operations);
    const wallClock = instant + (Date.now() - monotonicMs());
    const kept = readEffects(this.effects).filter(({ at }) => at < wallClock);
    writeFileSync(this.effects, kept.map((effect) => `${JSON.stringify(effect)}\n`).join(''));
    rmSync(this.dataDir, { recursive: true, force: true });
    cpSync(dataDir, this.dataDir, { recursive: true });
  }

  /** What is found again and again counts once. */
  #add(found: Verdict): void {
    for (const kind of ['lost', 'twice', 'broken'] as const) {
      const known = this.verdict[kind];
      for (const each of found[kind]) if (!known.includes(each)) known.push(each);
    }
  }

  /** No more faults: everything ends, and comes out as it must. */
  async settle(): Promise<void> {
    if (!this.service) await this.start();
    await this.load.repeatStarts();
    await this.load.raiseAll();
    await this.load.resumeAll();
    await this.load.finishAll();
    const deadline = performance.now() + SETTLE_MS;
    const broken: string[] = [];
    await Promise.all(
      [...this.load.started.values()].map(async ({ workflowId, type, plan }) => {
        let text: string | undefined;
        do text = await this.load.result(workflowId, 2_000);
        while (text === undefined && performance.now() < deadline);
        if (text === undefined) {
          const { text: why } = await this.wire.get(`/workflow/${workflowId}/status`);
          broken.push(`${workflowId} has not ended within ${SETTLE_MS} ms: ${why}`);
          return;
        }
        const { status, output, error } = JSON.parse(text) as Result;
        const wasMeddledWith = this.operations
          .of(workflowId)
          .some(({ kind, outcome }) => ENDINGS.includes(kind) && outcome !== 'refused');
        if (status !== 'completed' && !wasMeddledWith) {
          broken.push(`${workflowId} is ${status}: ${JSON.stringify(error)}`);
        }
        if (status !== 'completed') return;
        if (type === 'chores' && !fits(plan, output)) {
          broken.push(`${workflowId} returned ${JSON.stringify(output)} for ${JSON.stringify(plan)}`);
        }
        if (type === 'book') broken.push(...this.#missingIn(workflowId, output as Book));
        // What was served before the last kill, too.
        await this.load.history(workflowId);
        await this.load.result(workflowId);
      }),
    );
    this.verdict.broken.push(...broken, ...(await this.#stillOpen(deadline)));
    await this.stop();
    const disk = readDisk(this.dataDir);
    this.#add(checkDisk(disk, this.operations));
    this.#add(checkCosts(disk, readEffects(this.effects), this.load.spending.toldBefore(Infinity)));
    this.verdict.broken.push(
      ...checkEffects(disk, readEffects(this.effects), this.options.setsClock),
      ...this.load.broken,
      ...this.load.spending.broken,
    );
  }

  /** Children too come to their end. */
  async #stillOpen(deadline: number): Promise<string[]> {
    for (;;) {
      const { text } = await this.wire.get('/workflow/runs?status=running');
      const { runs } = JSON.parse(text) as { runs: { workflowId: string }[] };
      if (runs.length === 0) return [];
      if (performance.now() > deadline) return runs.map(({ workflowId }) => `${workflowId} is still open`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  /** What the run itself has seen of the messages: each once, and an update's answer is its place. */
  #missingIn(workflowId: string, { signals, updates }: Book): string[] {
    const broken: string[] = [];
    const sent = new Set(this.operations.of(workflowId).map(({ id }) => id));
    for (const list of [signals, updates]) {
      // What another run has told it may come again when that run is reset.
      const own = list.filter((value) => sent.has(value));
      if (new Set(own).size < own.length) broken.push(`${workflowId} has handled a message twice`);
    }
    for (const { kind, id, outcome, answer } of this.operations.of(workflowId)) {
      if (outcome !== 'acknowledged') continue;
      if (kind === 'signal' && !signals.includes(id))
        broken.push(`${workflowId} has not handled signal ${id}`);
      if (kind === 'update' && updates[Number(answer) - 1] !== id) {
        broken.push(
          `${workflowId}: update ${id} was answered with ${answer}, where now ${updates[Number(answer) - 1]} is`,
        );
      }
    }
    return broken;
  }

  async stop(): Promise<void> {
    const { service } = this;
    if (!service) return;
    for (const pid of service.workerPids()) this.#seenPids.add(pid);
    const code = await service.stop();
    if (code !== 0) this.verdict.broken.push(`the server ended with ${code}: ${service.output.slice(-500)}`);
    this.ended();
  }

  /** Nothing is left behind. */
  async remove(): Promise<void> {
    await this.service?.kill();
    this.wire.cut();
    await untilGone(this.#seenPids);
    this.folder.remove();
  }
}

interface Book {
  signals: string[];
  updates: string[];
}

interface Result {
  status: string;
  output: unknown;
  error: unknown;
}
