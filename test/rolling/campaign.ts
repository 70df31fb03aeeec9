/**
 * A deployment that rolls, over and over: worker processes of three versions of the code come, are killed, end in order
 * and come back, by a seed and under load. No run may fail, and none may be held back while code that fits it is
 * connected.
 *
 * Runs of `order` go on with the code that began them and with any newer one; those of `careless` with the code that
 * began them alone; `refund` is in the newest version only.
 */
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { silentLog } from '../../src/core/log.js';
import { EmbeddedEngine } from '../../src/embedded/index.js';
import { checkDataFolder } from '../../src/embedded/store/check/check.js';
import type { RunRef } from '../../src/engine.js';
import { attachWorkerLink } from '../../src/link/server.js';
import { startWorkers, type WorkerSupervisor } from '../../src/worker/supervision/supervisor.js';
import { Random } from '../crash/random.js';
import { Watch } from './watch.js';

export const CATALOG = 'rolling';
const VERSIONS = ['one', 'two', 'three'] as const;
type Version = (typeof VERSIONS)[number];
const WORKFLOWS = ['order', 'order', 'careless', 'refund'];

/** A start every so often; faster ones would only wait for each other on a machine that also starts processes. */
const START_EVERY_MS = 40;
/** What the last of them may take once all versions are there to stay. */
const SETTLE_MS = 120_000;

export interface Report {
  runs: number;
  /** What happened to workers, by kind. */
  events: Record<string, number>;
  /** Runs whose turns were made by more than one version are the point of it. */
  heldBackEver: number;
  problems: string[];
}

export async function roll({ seed, ms }: { seed: number; ms: number }): Promise<Report> {
  const dataDir = await mkdtemp(join(tmpdir(), 'perdure-rolling-'));
  const engine = EmbeddedEngine.open({ dataDir });
  const server = createServer();
  const link = attachWorkerLink(server, engine, { authorize: () => true, log: silentLog });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const serverUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const fleet = new Fleet(serverUrl, new Random(seed));
  const watch = new Watch(engine);
  let report: Report;
  try {
    await fleet.open();
    const deadline = performance.now() + ms;
    const [runs] = await Promise.all([
      startRuns(engine, new Random(seed + 1), deadline),
      fleet.roll(deadline),
      watch.look(deadline),
    ]);
    await fleet.settle();
    const problems = [...watch.problems, ...(await failuresOf(engine, runs))];
    report = { runs: runs.length, events: fleet.events, heldBackEver: watch.heldBackEver, problems };
  } finally {
    await fleet.close();
    await link.close();
    await new Promise((resolve) => server.close(resolve));
    await engine.close();
  }
  for (const { workflowId, problem } of checkDataFolder(dataDir).problems)
    report.problems.push(`the data folder: ${workflowId ?? ''} ${problem}`);
  await rm(dataDir, { recursive: true, force: true });
  return report;
}

async function startRuns(engine: EmbeddedEngine, random: Random, deadline: number): Promise<RunRef[]> {
  const runs: RunRef[] = [];
  while (performance.now() < deadline) {
    const workflowType = random.pick(WORKFLOWS);
    const catalog = await engine.catalog(CATALOG);
    // As the door does it: what no connected worker has is refused there.
    if (catalog?.workflows.some(({ entry }) => entry.name === workflowType)) {
      const input = [JSON.stringify({ id: String(runs.length) })];
      runs.push(await engine.start({ workflowType, catalog: CATALOG, input }));
    }
    await sleep(START_EVERY_MS);
  }
  return runs;
}

/** How runs ended that have not completed, or that they have not ended. */
async function failuresOf(engine: EmbeddedEngine, runs: readonly RunRef[]): Promise<string[]> {
  const until = performance.now() + SETTLE_MS;
  const problems: string[] = [];
  for (const run of runs) {
    const outcome = await engine.outcome(run, { waitMs: Math.max(0, until - performance.now()) });
    if (outcome?.status === 'completed') continue;
    const { heldBack } = await engine.describe(run);
    const what = outcome ? `${outcome.status}: ${outcome.failure?.message}` : 'still open';
    problems.push(`${run.workflowId} ${what}${heldBack ? ` (held back: ${heldBack.reason})` : ''}`);
  }
  return problems;
}

interface Group {
  version: Version;
  workers: WorkerSupervisor | undefined;
}

/** The workers: a few groups of processes, each of one version at a time. */
class Fleet {
  readonly events: Record<string, number> = {};
  readonly #groups: Group[] = [
    { version: 'one', workers: undefined },
    { version: 'one', workers: undefined },
    { version: 'two', workers: undefined },
  ];

  constructor(
    private readonly serverUrl: string,
    private readonly random: Random,
  ) {}

  /** At first only the oldest version is there. */
  async open(): Promise<void> {
    const [group] = this.#groups;
    group!.workers = await this.#start(group!.version);
  }

  async roll(deadline: number): Promise<void> {
    while (performance.now() < deadline) {
      await this.#disturb(this.random.pick(this.#groups));
      await sleep(this.random.below(400));
    }
  }

  /** All versions are there, and stay. */
  async settle(): Promise<void> {
    for (const [at, group] of this.#groups.entries()) {
      await group.workers?.stop(0);
      group.version = VERSIONS[at]!;
      group.workers = await this.#start(group.version);
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#groups.map(({ workers }) => workers?.stop(0)));
  }

  async #disturb(group: Group): Promise<void> {
    if (!group.workers) {
      group.version = this.random.pick(VERSIONS);
      group.workers = await this.#start(group.version);
      return;
    }
    if (this.random.below(2) === 0) {
      this.#happened('killed');
      for (const pid of group.workers.pids()) process.kill(pid, 'SIGKILL');
      return;
    }
    this.#happened('ended in order');
    const leaving = group.workers;
    group.workers = undefined;
    await leaving.stop(200);
    // In a deployment the next version comes at once, more often than not.
    if (this.random.below(3) === 0) return;
    group.version = this.random.pick(VERSIONS);
    group.workers = await this.#start(group.version);
  }

  async #start(version: Version): Promise<WorkerSupervisor> {
    this.#happened(`started ${version}`);
    const workers = startWorkers({
      directory: fileURLToPath(new URL(`versions/${version}`, import.meta.url)),
      serverUrl: this.serverUrl,
      catalog: CATALOG,
      count: 1,
      spares: 0,
      versionName: version,
      resultFormat: 'current',
      log: silentLog,
    });
    await workers.ready;
    await workers.registered;
    return workers;
  }

  #happened(what: string): void {
    this.events[what] = (this.events[what] ?? 0) + 1;
  }
}
