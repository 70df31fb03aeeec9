/**
 * Turns that this worker's code cannot make, while other workers have code that may.
 *
 * The cluster gives a turn to any worker of the task queue. When it fails the first time, Temporal's core says so, and
 * the cluster gives it out again at once. From the second time on core keeps silent, and the cluster waits until the
 * turn's time is over: ten seconds at first, minutes later. So this worker says itself that it cannot make the turn.
 *
 * 1. Nothing is recorded of that: the history does not grow, however often it happens.
 * 2. While workers of other code are registered, a turn is given back, after a pause that grows each time; while there
 *    are none, when such come, or when this worker leaves. Then also what the cluster has given to a poll that was cut off
 *    as the worker ended: nobody has that.
 * 3. The name of the turn is made here (turn-token.ts). A cluster that does not know it by that refuses, and the turn
 *    waits until its time is over.
 */
import type { Worker } from '@temporalio/worker';
import type { Log } from '../../core/log.js';
import type { RunRef } from '../../engine.js';
import { BoundedMap } from '../cluster/bounded-map.js';
import type { Cluster } from '../cluster/connection.js';
import { Shared } from '../cluster/shared.js';
import { int } from '../translate/proto.js';
import { turnToken } from './turn-token.js';

/** Numbers of Temporal's enums. */
const STARTED = 2;
const NON_DETERMINISTIC_ERROR = 24;
const EVICTED_FOR_ITS_FAILURE: ReadonlySet<number> = new Set([3, 4]);

/** Soon, since another worker may fit; ever later while nobody seems to. */
const FIRST_PAUSE_MS = 20;
const MAX_PAUSE_MS = 60_000;
/** How often it is looked who is registered, while turns wait for that. */
const LOOK_MS = 1_000;
/** After this the cluster has given it out again: the longest time that it grants, and that of a turn. */
const LAPSED_MS = 15 * 60_000;
const MAX_RUNS = 10_000;
/** For so long after it has failed here a run's turn may come again, be it to a poll that the end of the worker cuts off. */
const RECENT_MS = 2 * MAX_PAUSE_MS;
/** Given back together: each is tried by somebody, at the cost of a replay. */
const AT_ONCE = 50;

interface Held {
  token: Buffer;
  /** The last of the history: while that is the same, so is the turn. */
  lastEventId: number;
  since: number;
}

export class Misfits {
  readonly #held = new BoundedMap<string, Held>(MAX_RUNS);
  readonly #tries = new BoundedMap<string, { count: number; lastEventId: number }>(MAX_RUNS);
  /** The events by which core has told of failed turns, the last of each run. */
  readonly #toldByCore = new BoundedMap<string, number>(MAX_RUNS);
  /** Runs whose turns have failed here, the last of them last. */
  readonly #recent = new BoundedMap<string, { run: RunRef; at: number }>(MAX_RUNS);
  readonly #timer: NodeJS.Timeout;
  readonly #looks = new Shared<void>();
  /** Turns that have failed, while it is looked whether they are to be given back. */
  readonly #looked = new Set<Promise<void>>();
  #others = '';
  #namespaceId: string | undefined;
  #isLeaving = false;

  constructor(
    private readonly cluster: Cluster,
    private readonly identity: string,
    /** Names the workers of other code; empty when there are none. */
    private readonly findOthers: () => Promise<string>,
    private readonly log: Log,
  ) {
    this.#timer = setInterval(() => {
      for (const runId of [...this.#held.keys()]) if (this.#hasLapsed(runId)) this.#held.delete(runId);
      if (this.#held.size > 0) this.#settle(this.#look());
    }, LOOK_MS);
    this.#timer.unref();
  }

  /** Hears of the turns that fail in the worker. */
  attend(worker: Worker): void {
    const workflowIds = new Map<string, string>();
    // biome-ignore lint/complexity/useLiteralKeys: Temporal has it as protected, and names the run nowhere else
    const creator = worker['workflowCreator'];
    const create = creator?.createWorkflow.bind(creator);
    if (!creator || !create) return;
    creator.createWorkflow = (options) => {
      workflowIds.set(options.info.runId, options.info.workflowId);
      return create(options);
    };
    // biome-ignore lint/complexity/useLiteralKeys: Temporal has it as protected, and tells of failed turns nowhere else
    const evictions = worker['evictionsEmitter'] as unknown as NodeJS.EventEmitter;
    evictions.on('eviction', ({ runId, evictJob }: Eviction) => {
      const workflowId = workflowIds.get(runId);
      workflowIds.delete(runId);
      if (workflowId === undefined || !EVICTED_FOR_ITS_FAILURE.has(evictJob.reason ?? 0)) return;
      const looked = this.#failed({ workflowId, runId });
      this.#looked.add(looked);
      this.#settle(looked.finally(() => this.#looked.delete(looked)));
    });
  }

  /** All that is here goes to others, now or when they come. */
  async leave(): Promise<void> {
    this.#isLeaving = true;
    clearInterval(this.#timer);
    await Promise.allSettled(this.#looked);
    await this.#giveBackAll();
    const since = performance.now() - RECENT_MS;
    const recent = [...this.#recent.values()].filter(({ at }) => at > since);
    await inTurn(recent, ({ run }) => this.#failed(run));
  }

  async #failed(run: RunRef): Promise<void> {
    const { runId } = run;
    this.#recent.set(runId, { run, at: performance.now() });
    const held = await this.#turnOf(run);
    if (!held) return;
    this.#held.set(runId, held);
    if (this.#isLeaving) return this.#giveBack(runId);
    await this.#look();
    if (this.#others === '') return;
    const { lastEventId } = held;
    const before = this.#tries.get(runId);
    const count = before?.lastEventId === lastEventId ? before.count : 0;
    this.#tries.set(runId, { count: count + 1, lastEventId });
    const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** count, MAX_PAUSE_MS);
    setTimeout(() => this.#settle(this.#giveBack(runId)), pauseMs).unref();
  }

  /** Undefined when the cluster knows already that the turn has failed. */
  async #turnOf({ workflowId, runId }: RunRef): Promise<Held | undefined> {
    const { namespace } = this.cluster;
    const execution = { workflowId, runId };
    const [namespaceId, { pendingWorkflowTask: turn }, { history }] = await Promise.all([
      this.#namespace(),
      this.cluster.call((service) => service.describeWorkflowExecution({ namespace, execution })),
      this.cluster.call((service) =>
        service.getWorkflowExecutionHistoryReverse({ namespace, execution, maximumPageSize: 1 }),
      ),
    ]);
    const last = history?.events?.[0];
    const failed = last?.workflowTaskFailedEventAttributes;
    if (!last || !(failed || last.workflowTaskTimedOutEventAttributes)) return undefined;
    const lastEventId = int(last.eventId);
    if (failed?.identity === this.identity && this.#toldByCore.get(runId) !== lastEventId) {
      this.#toldByCore.set(runId, lastEventId);
      return undefined;
    }
    const attempt = turn?.attempt ?? 1;
    if (turn?.state !== STARTED || attempt < 2) return undefined;
    const { startedTime } = turn;
    const version = int(last.version);
    const token = turnToken({ namespaceId, workflowId, runId, attempt, startedTime, lastEventId, version });
    return { token, lastEventId, since: performance.now() };
  }

  async #namespace(): Promise<string> {
    const { namespace } = this.cluster;
    this.#namespaceId ??=
      (await this.cluster.call((service) => service.describeNamespace({ namespace }))).namespaceInfo?.id ??
      '';
    return this.#namespaceId;
  }

  #look(): Promise<void> {
    return this.#looks.get('', () => this.#compare());
  }

  /** Whoever has come may fit what nobody did before. */
  async #compare(): Promise<void> {
    const others = await this.findOthers();
    if (others === this.#others) return;
    this.#others = others;
    for (const runId of [...this.#tries.keys()]) this.#tries.delete(runId);
    if (others !== '') await this.#giveBackAll();
  }

  async #giveBackAll(): Promise<void> {
    await inTurn([...this.#held.keys()], (runId) => this.#giveBack(runId));
  }

  async #giveBack(runId: string): Promise<void> {
    const held = this.#held.peek(runId);
    this.#held.delete(runId);
    if (!held) return;
    // From now on it is somebody else's.
    this.#recent.delete(runId);
    const { namespace } = this.cluster;
    await this.cluster.call((service) =>
      service.respondWorkflowTaskFailed({
        namespace,
        identity: this.identity,
        taskToken: held.token,
        cause: NON_DETERMINISTIC_ERROR,
        failure: { source: 'perdure', message: 'the code of this worker does not fit; given to others' },
      }),
    );
  }

  #hasLapsed(runId: string): boolean {
    return performance.now() - this.#held.peek(runId)!.since > LAPSED_MS;
  }

  /** What cannot be done now the cluster does by itself, later. */
  #settle(doing: Promise<void>): void {
    doing.catch((error: unknown) => {
      const why = error instanceof Error ? error.message : String(error);
      this.log.debug({ error: why }, 'a turn that does not fit was not given back');
    });
  }
}

async function inTurn<T>(all: readonly T[], action: (each: T) => Promise<void>): Promise<void> {
  for (let from = 0; from < all.length; from += AT_ONCE) {
    await Promise.allSettled(all.slice(from, from + AT_ONCE).map(action));
  }
}

interface Eviction {
  runId: string;
  evictJob: { reason?: number | null };
}
