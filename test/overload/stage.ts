/** The real service under load, what it used before, and whether it is back there afterwards. */
import { fileURLToPath } from 'node:url';
import { freePort, Service, temporaryFolder } from '../recovery/service.js';
import { Crowd, type Reply } from './crowd.js';
import { type Health, HealthProbe, RssWatch, type Usage, usageOf } from './usage.js';

const workflows = fileURLToPath(new URL('./workflows', import.meta.url));

/** The most memory that the server may take, whatever callers do: what it takes idle, and the sum of its bounds. */
export const RSS_BUDGET_BYTES = 1024 ** 3;
/** The write-ahead log is used again from its beginning at 64 MiB; one commit may go beyond. */
const WAL_BYTES = 80 * 1024 ** 2;
/** Timers and descriptors that come and go by themselves. */
const SLACK = 5;
const SETTLE_MS = 120_000;

export interface Scenario {
  name: string;
  /** Returns what does not hold. */
  load(stage: Stage): Promise<string[]>;
}

export interface Measurement {
  scenario: string;
  seconds: number;
  statuses: Record<number, number>;
  health: Health;
  mostRssBytes: number;
  before: Usage;
  after: Usage;
  /** What did not hold. */
  problems: string[];
}

export class Stage {
  readonly crowd: Crowd;
  #statuses: Record<number, number> = {};
  #problems: string[] = [];

  private constructor(
    readonly service: Service,
    private readonly probePort: number,
    private readonly data: { remove(): void },
  ) {
    this.crowd = new Crowd(service.options.port);
  }

  static async open(): Promise<Stage> {
    const data = temporaryFolder();
    const probePort = await freePort();
    const service = await Service.start({
      workflows,
      dataDir: data.path,
      port: await freePort(),
      workers: 1,
      flags: ['--probe-port', String(probePort)],
    });
    await service.untilWorkers(2);
    const stage = new Stage(service, probePort, data);
    // The first calls find everything cold.
    for (let i = 0; i < 50; i++)
      await stage.crowd.post('/workflow/run', { workflowName: 'works', input: {} });
    return stage;
  }

  async measure({ name, load }: Scenario): Promise<Measurement> {
    this.#statuses = {};
    this.#problems = [];
    const before = await usageOf(this.service);
    const probe = await HealthProbe.start(this.service.options.port, this.probePort);
    const rss = new RssWatch(this.service.pid);
    const begunAt = performance.now();
    const found = await load(this);
    const unfinished = await this.#settled(before);
    const seconds = (performance.now() - begunAt) / 1_000;
    const health = await probe.stop();
    const mostRssBytes = rss.stop();
    const after = await usageOf(this.service);
    const problems = [...found, ...this.#problems, ...unfinished];
    if (mostRssBytes > RSS_BUDGET_BYTES) problems.push(`${mega(mostRssBytes)} MB of memory`);
    for (const { unanswered } of Object.values(health)) {
      if (unanswered > 0) problems.push(`${unanswered} probes of the health were not answered`);
    }
    return {
      ...{ scenario: name, seconds, statuses: this.#statuses, health, mostRssBytes, before, after },
      problems,
    };
  }

  /** Whoever makes so many calls that wait knows only by this that they do. */
  async untilWaiting(calls: number): Promise<void> {
    const deadline = performance.now() + SETTLE_MS;
    for (;;) {
      const { waitingCalls } = await usageOf(this.service);
      if (waitingCalls >= calls) return;
      if (performance.now() > deadline) throw new Error(`${waitingCalls} of ${calls} calls wait`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  /** Counts the replies, of which each must be a success or say when to come back. */
  judge(replies: readonly Reply[]): Reply[] {
    for (const { status, retryAfter, body } of replies) {
      this.#statuses[status] = (this.#statuses[status] ?? 0) + 1;
      const isRefusal = status === 429 || status === 503;
      if (isRefusal && !(Number(retryAfter) > 0)) this.#complain(`${status} without Retry-After`);
      if (!isRefusal && (status < 200 || status > 299)) this.#complain(`${status}: ${body.slice(0, 200)}`);
    }
    return replies.filter(({ status }) => status >= 200 && status <= 299);
  }

  #complain(problem: string): void {
    if (this.#problems.length < 5) this.#problems.push(problem);
  }

  /** Waits until all that was accepted has ended and all that was taken is given back. What is not is told. */
  async #settled(before: Usage): Promise<string[]> {
    const deadline = performance.now() + SETTLE_MS;
    for (;;) {
      const left = await this.#left(before);
      if (left.length === 0 || performance.now() > deadline) return left;
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
  }

  async #left(before: Usage): Promise<string[]> {
    const { body } = await this.service.call('/workflow/runs?status=running&limit=1');
    const now = await usageOf(this.service);
    const left = (body as { count: number }).count > 0 ? ['runs that do not end'] : [];
    for (const what of ['sockets', 'fds', 'timers', 'children'] as const) {
      const slack = what === 'children' ? 0 : SLACK;
      if (now[what] > before[what] + slack) left.push(`${what}: ${before[what]} before, ${now[what]} after`);
    }
    for (const what of ['waitingCalls', 'openStreams'] as const) {
      if (now[what] > 0) left.push(`${what}: ${now[what]}`);
    }
    if (now.walBytes > WAL_BYTES) left.push(`a write-ahead log of ${mega(now.walBytes)} MB`);
    return left;
  }

  async close(): Promise<void> {
    await this.service.kill();
    this.data.remove();
  }
}

export const mega = (bytes: number): number => Math.round(bytes / 1e6);
