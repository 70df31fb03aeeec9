/**
 * The traces of closed runs: when they are written, where they are, and when they leave.
 *
 * 1. A trace can be made for as long as its run is retained, so one that was not written yet, or was lost, is made
 *    when it is asked for. Nothing here can fail a run.
 * 2. Where a trace is follows from the id of its run and from what the engine has recorded, never from anything that
 *    a workflow returned.
 * 3. A trace leaves with its run (departures.ts). Where the engine does not know which runs are retained, files leave by
 *    their age, and objects by a rule of the bucket.
 */
import type { Readable } from 'node:stream';
import { setImmediate as others, setTimeout as pause } from 'node:timers/promises';
import { DEFAULT_TRACE_LIMITS, type TraceLimits } from '../core/bounds/limits.js';
import { monotonicMs } from '../core/clock.js';
import { PerdureError } from '../core/errors.js';
import { invariant } from '../core/invariant.js';
import { type Log, silentLog } from '../core/log.js';
import type { ClosedStatus, RunStatus } from '../core/run/run.js';
import type { Engine, RunRef, RunSummary, RunWatch, TraceInfo, TracePlan } from '../engine.js';
import { Background } from './background.js';
import { Departures } from './departures.js';
import { TraceFiles } from './files.js';
import { grow } from './growth.js';
import { LimitedLog } from './limited-log.js';
import type { TraceMode } from './modes.js';
import { ObjectStore, type ObjectStoreSettings } from './object-store.js';
import { Retries } from './retries.js';
import { traceText } from './text.js';
import { TraceTree } from './tree.js';
import { OneAtATime, SomeAtATime } from './turnstile.js';

/** Runs whose result carries an error. */
const FAILED: ReadonlySet<RunStatus> = new Set<RunStatus>(['failed', 'timed_out', 'terminated', 'cancelled']);

/** From being told that a run closes to its being closed. */
const CLOSES_WITHIN_MS = 10_000;

export interface TracesOptions {
  engine: Engine;
  /** Tells when runs close; without it traces are made on demand only. */
  watch?: Pick<RunWatch, 'watch'> & Partial<RunWatch>;
  mode: TraceMode;
  /** Traces live in a folder of it. */
  dataDir: string;
  /** Traces are kept in this object store as well. */
  store?: ObjectStoreSettings;
  limits?: Partial<TraceLimits>;
  log?: Log;
}

export type TraceLog =
  | { source: 'remote'; runId: string /** JSON text. */; data: Readable }
  | {
      source: 'local';
      runId: string;
      localPath: string /** JSON text, if it was asked for. */;
      data?: Readable;
    };

export class Traces {
  readonly #engine: Engine;
  readonly #mode: TraceMode;
  readonly #limits: TraceLimits;
  readonly #log: LimitedLog;
  readonly #perRun = new OneAtATime();
  /** What is being saved, so that all who ask for it meanwhile wait once. */
  readonly #saves = new Map<string, Promise<TraceInfo>>();
  readonly #builds: SomeAtATime;
  /** What nobody waits for. It has its turn here before it has the run's. */
  readonly #chores: SomeAtATime;
  readonly #background: Background;
  readonly #retries: Retries;
  readonly #stopWatching: () => void;
  /** Absent where nobody knows when runs leave; files expire there. */
  readonly #departures: Departures | undefined;
  readonly #expiry: NodeJS.Timeout | undefined;
  #expired: Promise<void> | undefined;
  #isClosed = false;
  #storeFailedAt = Number.NEGATIVE_INFINITY;
  /** Callers who wait for a trace. */
  #awaited = 0;

  static async open(options: TracesOptions): Promise<Traces> {
    const limits = { ...DEFAULT_TRACE_LIMITS, ...options.limits };
    const files = await TraceFiles.open(options.dataDir, limits.lowWaterBytes);
    const store = options.store && (await ObjectStore.open(options.store, limits));
    return new Traces(options, limits, files, store);
  }

  private constructor(
    { engine, watch, mode, log = silentLog }: TracesOptions,
    limits: TraceLimits,
    private readonly files: TraceFiles,
    private readonly store: ObjectStore | undefined,
  ) {
    this.#engine = engine;
    this.#mode = mode;
    this.#limits = limits;
    this.#log = new LimitedLog(log);
    this.#builds = new SomeAtATime(limits.builtAtOnce);
    this.#chores = new SomeAtATime(limits.choresAtOnce);
    this.#retries = new Retries(limits, this.#log);
    this.#background = new Background((run) => this.#writeBeforeAsked(run), limits.waitingRuns, this.#log);
    const closed = (run: RunSummary) => {
      if (mode === 'all' || FAILED.has(run.status)) this.#background.add(run);
    };
    const isEager = mode === 'all' || mode === 'failed';
    const isRetained = watch?.isRetained?.bind(watch);
    const shared = { files, store, perRun: this.#perRun, chores: this.#chores, retries: this.#retries };
    if (isRetained) this.#departures = new Departures({ ...shared, isRetained, limits, log: this.#log });
    else {
      const expire = () => {
        this.#expired = this.#expire();
      };
      expire();
      this.#expiry = setInterval(expire, limits.expireEveryMs).unref();
    }
    const removed = (runId: string) => {
      this.#background.forget(runId);
      void this.#departures?.remove(runId);
    };
    this.#stopWatching = watch?.watch(isEager ? { closed, removed } : { removed }) ?? (() => {});
  }

  /**
   * The trace of a closed run, made now if it is not there yet.
   * @throws TraceNotAvailableError there are no traces, or the workflow wants none
   * @throws WorkflowNotFoundError the run has left meanwhile
   * @throws StorageFullError it is not there, and there is no space to make it
   */
  async find(run: RunSummary, { isInlined = false } = {}): Promise<TraceLog> {
    const { workflowId, runId } = run;
    const theirs = await this.#madeElsewhere(run);
    if (theirs) return theirs;
    if (!(await this.#isWanted(run))) {
      const reason =
        this.#mode === 'off' ? 'This server keeps no traces' : `${run.workflowType} keeps no traces`;
      throw new PerdureError('TraceNotAvailableError', reason, { workflowId, runId });
    }
    const saved = await this.#save(run, { isAskedFor: true });
    const data = await this.#fetch(run, saved);
    if (data) return { source: 'remote', runId, data };
    const localPath = this.files.pathOf(runId);
    const text = isInlined ? await this.#read(runId) : undefined;
    return { source: 'local', runId, localPath, ...(text && { data: text }) };
  }

  /**
   * Where the trace of a run that has just closed is, for a caller who has waited for the run: traces that are written
   * anyway are waited for, but not for long, and not by many at a time. A file is told while its upload goes on. Null when
   * there is none by then.
   */
  async soon(run: RunRef & { status: ClosedStatus }): Promise<TraceInfo | null> {
    const isPlanned = this.#mode === 'all' || (this.#mode === 'failed' && FAILED.has(run.status));
    if (!isPlanned || this.#awaited >= this.#limits.awaitedAtOnce) return null;
    this.#awaited++;
    const over = new AbortController();
    try {
      return await Promise.race([
        this.#saveAtOnce(run),
        pause(this.#limits.awaitedMs, undefined, { signal: over.signal, ref: false }).then(() =>
          this.#savedSoFar(run),
        ),
      ]);
    } finally {
      over.abort();
      this.#awaited--;
    }
  }

  async #savedSoFar({ runId }: RunRef): Promise<TraceInfo | null> {
    const isThere = await this.files.has(runId).catch(() => false);
    return isThere ? { local: this.files.pathOf(runId) } : null;
  }

  /** Never rejects: the run has ended well or badly whatever becomes of its trace. */
  async #saveAtOnce(run: RunRef): Promise<TraceInfo | null> {
    try {
      const described = await this.#engine.describe(ref(run), { withInput: false });
      if (this.#isClosed || !(await this.#isWanted(described))) return null;
      // It is not needed twice.
      this.#background.forget(run.runId);
      return await this.#save(run);
    } catch (error) {
      if (!this.#isClosed) {
        this.#log.warn({ runId: run.runId, err: error }, 'the trace of a run could not be written');
      }
      return null;
    }
  }

  /** What the file of the run holds; undefined when it is too large to be passed on. */
  async #read(runId: string): Promise<Readable | undefined> {
    const found = await this.files.read(runId);
    if (!found) return undefined;
    if (found.size <= this.#limits.inlinedBytes) return found.file.createReadStream();
    await found.file.close();
    return undefined;
  }

  /** The trace that a worker of another maker has written itself, where it says that it has, and it can be come by. */
  async #madeElsewhere(run: RunRef): Promise<TraceLog | undefined> {
    const { runId } = run;
    const { local, remote } = await this.#recorded(run);
    const isOurs = (place: string) => place.endsWith(`${runId}.json`);
    if (remote !== undefined && !isOurs(remote)) {
      const data = await this.#ifItCan(run, async () => this.store?.get(remote));
      if (data) return { source: 'remote', runId, data };
    }
    return local === undefined || isOurs(local) ? undefined : { source: 'local', runId, localPath: local };
  }

  /** Undefined when traces are made only for those who ask. */
  get plan(): TracePlan | undefined {
    if (this.#mode !== 'all' && this.#mode !== 'failed') return undefined;
    return { runs: this.#mode, local: this.files.placeOfAll, remote: this.store?.placeOfAll };
  }

  /** Ends what is under way, and leaves the rest for when it is asked for. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopWatching();
    clearInterval(this.#expiry);
    this.#retries.close();
    this.store?.close();
    await this.#background.close();
    await this.#departures?.close();
    await this.#expired;
    await this.#perRun.idle();
    this.#log.flush();
  }

  async #writeBeforeAsked(run: RunSummary): Promise<void> {
    try {
      if (!(await this.#isWanted(run))) return;
      // Who tells of it may be ahead of the commit that closes it.
      const isClosed = await this.#engine.outcome(ref(run), { waitMs: CLOSES_WITHIN_MS, followChain: false });
      if (isClosed) await this.#save(run);
    } catch (error) {
      // It left before its turn came.
      if (!(error instanceof PerdureError && error.name === 'WorkflowNotFoundError')) throw error;
    }
  }

  async #isWanted({ catalog, workflowType }: RunSummary): Promise<boolean> {
    if (this.#mode === 'off') return false;
    const known = await this.#engine.catalog(catalog);
    return !known?.workflows.some(
      ({ entry, settings }) => entry.name === workflowType && settings.disableTrace,
    );
  }

  /** Sees to it that the trace is where it should be, and that the engine knows. */
  #save(run: RunRef, { isAskedFor = false } = {}): Promise<TraceInfo> {
    const { runId } = run;
    const underWay = this.#saves.get(runId);
    if (underWay) return underWay;
    const saved = this.#perRun
      .with(runId, async () => {
        const known = await this.#recorded(run);
        const local = this.files.pathOf(runId);
        if (!(await this.files.has(runId))) await this.#builds.with(() => this.#build(run));
        const remote = await this.#uploadOrLater(run, known.remote, isAskedFor);
        const isNews = local !== known.local || remote !== known.remote;
        // On a full disk it would wait until there is space, and whoever asks with it.
        if (isNews && (await this.files.hasSpace()))
          await this.#engine.recordTrace(ref(run), { local, remote });
        return { local, remote };
      })
      .finally(() => this.#saves.delete(runId));
    this.#saves.set(runId, saved);
    return saved;
  }

  async #recorded(run: RunRef): Promise<TraceInfo> {
    const outcome = await this.#engine.outcome(ref(run), { followChain: false });
    return outcome?.trace ?? {};
  }

  async #build(run: RunRef): Promise<void> {
    const tree = new TraceTree(run.runId);
    const limit = this.#limits.eventsPerPage;
    for (let afterEventId = 0, ended = false; !ended; ) {
      const page = await this.#engine.history(ref(run), { afterEventId, limit });
      invariant(page.ended || page.events.length > 0, `run ${run.runId} is not closed`);
      for (const event of page.events) grow(tree, event);
      afterEventId += page.events.length;
      ended = page.ended;
      if (!ended) await others();
    }
    await this.files.write(run.runId, traceText(tree.trace));
  }

  /** Where the trace is in the store; undefined when there is no store, or it cannot take the trace now. */
  async #uploadOrLater(
    run: RunRef,
    known: string | undefined,
    isAskedFor: boolean,
  ): Promise<string | undefined> {
    if (!this.store) return known;
    if (known !== undefined && this.store.holds(known)) return known;
    if (this.#retries.isWaiting(run.runId)) return undefined;
    try {
      // Traces that nobody has asked for would wait for a store that hangs one after the other.
      if (!isAskedFor && this.#hasStoreJustFailed) throw new Error('the store has failed a moment ago');
      return await this.#upload(run.runId, this.store);
    } catch (error) {
      const act = () => this.#chores.with(() => this.#uploadAgain(run));
      this.#retries.later(run.runId, { failed: 'the trace of a run could not be uploaded', act }, error);
      return undefined;
    }
  }

  get #hasStoreJustFailed(): boolean {
    return monotonicMs() - this.#storeFailedAt < this.#limits.storeRestMs;
  }

  async #upload(runId: string, store: ObjectStore): Promise<string> {
    const found = await this.files.read(runId);
    if (!found) throw new Error('its file is gone');
    try {
      await store.put(runId, found);
    } catch (error) {
      this.#storeFailedAt = monotonicMs();
      throw error;
    } finally {
      await found.file.close();
    }
    this.#storeFailedAt = Number.NEGATIVE_INFINITY;
    this.#retries.forget(runId);
    return store.uriOf(runId);
  }

  #uploadAgain(run: RunRef): Promise<void> {
    return this.#perRun.with(run.runId, async () => {
      if (this.store && !this.#isClosed && (await this.files.has(run.runId))) {
        await this.#engine.recordTrace(ref(run), { remote: await this.#upload(run.runId, this.store) });
      }
    });
  }

  /** What the store has; undefined when it has nothing or cannot be asked, since the local file is there too. */
  async #fetch(run: RunRef, { remote }: TraceInfo): Promise<Readable | undefined> {
    const { store } = this;
    if (!store || remote === undefined) return undefined;
    return this.#ifItCan(run, async () => {
      const data = await store.get(remote);
      if (data) return data;
      // Somebody emptied the bucket; the run is still there, so its trace should be.
      await this.#uploadAgain(run);
      return store.get(store.uriOf(run.runId));
    });
  }

  async #ifItCan({ runId }: RunRef, ask: () => Promise<Readable | undefined>): Promise<Readable | undefined> {
    try {
      return await ask();
    } catch (error) {
      const { name, message } = error as Error;
      this.#log.warn({ runId, error: `${name}: ${message}` }, 'the trace of a run could not be fetched');
      return undefined;
    }
  }

  async #expire(): Promise<void> {
    try {
      await this.files.removeWrittenBefore(Date.now() - this.#limits.unwatchedFileMs);
    } catch (error) {
      this.#log.warn({ err: error }, 'old traces could not be removed');
    }
  }
}

const ref = ({ workflowId, runId }: RunRef): RunRef => ({ workflowId, runId });
