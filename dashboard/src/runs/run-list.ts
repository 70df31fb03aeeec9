/**
 * The list of runs as it is shown: newest first, as far as somebody has scrolled, and kept up to date.
 *
 * 1. One call every moment asks for the newest page, and one for each other page that is on the screen; never one for
 *    each row.
 * 2. What changes changes in its place. Rows are never taken away or put in between while somebody reads: new ones wait
 *    in `waiting` until `takeNew`.
 * 3. A run that does not fit the filter any more stays, as what it has become.
 * 4. What could not be had is asked for again, until it is there; only what the server will never answer is left to the
 *    person who asked for it.
 */
import { ConnectionError, ValidationError, WorkflowNotFoundError } from 'perdure/client';
import { client } from '../app/api.js';
import { Store } from '../app/store.js';
import { type Filter, type Run, runsPage } from './runs-page.js';

/** As many as the server explains in one answer. */
const PAGE_SIZE = 100;
/** How often what is shown is asked for again; a server that takes long is asked less often. */
const REFRESH_MS = 2_000;
const SLOWNESS = 4;
/** A list that nobody reads does not grow beyond this: it begins anew with the newest page. */
const KEPT_UNREAD = 500;
/** Of the runs that left the filter at once, so many are looked up at a time. */
const LOOKED_UP = 10;

export interface Shown {
  runs: readonly Run[];
  /** Newer than those, and not shown yet. */
  waiting: readonly Run[];
  /** More of them than one page has. */
  hasMoreWaiting: boolean;
  /** Whether there are older ones. */
  hasMore: boolean;
  isLoading: boolean;
  /** Why the next page, or the first one, could not be had; or why what is shown could not be brought up to date. */
  error: unknown;
}

const NOTHING: Shown = {
  runs: [],
  waiting: [],
  hasMoreWaiting: false,
  hasMore: true,
  isLoading: true,
  error: undefined,
};

interface Answer {
  runs: Run[];
  nextCursor: string | null;
}

interface Page {
  cursor: string | undefined;
  /** Where its first run stands. */
  from: number;
}

export class RunList {
  readonly shown = new Store<Shown>(NOTHING);
  #pages: Page[] = [];
  #nextCursor: string | null | undefined;
  /** The newest page, as it was last answered. */
  #newest: Answer = { runs: [], nextCursor: null };
  #range: [first: number, last: number] = [0, 0];
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #ended = new AbortController();
  #isReading = () => false;

  constructor(private readonly filter: () => Filter) {}

  /** `isReading` says whether rows may not move now. */
  start(isReading: () => boolean): void {
    this.#isReading = isReading;
    void this.loadMore().then(() => this.#schedule(REFRESH_MS));
    document.addEventListener('visibilitychange', this.#onVisible);
  }

  stop(): void {
    this.#ended.abort();
    clearTimeout(this.#timer);
    document.removeEventListener('visibilitychange', this.#onVisible);
  }

  /** The rows that are on the screen. */
  watch(first: number, last: number): void {
    this.#range = [first, last];
    const { runs, hasMore, isLoading, error } = this.shown.value;
    if (last >= runs.length - PAGE_SIZE / 4 && hasMore && !isLoading && !error) void this.loadMore();
  }

  async loadMore(): Promise<void> {
    const pages = this.#pages;
    const cursor = this.#nextCursor ?? undefined;
    this.#set({ isLoading: true, error: undefined });
    try {
      const page = await this.#ask(cursor);
      // The list has begun anew meanwhile.
      if (pages !== this.#pages) return;
      const { runs } = this.shown.value;
      const known = new Set(runs.map(({ runId }) => runId));
      const more = page.runs.filter(({ runId }) => !known.has(runId));
      this.#pages.push({ cursor, from: cursor === undefined ? 0 : runs.length });
      this.#nextCursor = page.nextCursor;
      this.#set({ runs: [...runs, ...more], hasMore: page.nextCursor !== null, isLoading: false });
    } catch (error) {
      if (pages === this.#pages) this.#set({ isLoading: false, error });
    }
  }

  /** Shows those that have waited. */
  takeNew(): void {
    const { runs, waiting, hasMoreWaiting } = this.shown.value;
    if (hasMoreWaiting || (runs.length + waiting.length > KEPT_UNREAD && !this.#isReading())) {
      this.#beginAnew();
      return;
    }
    for (const page of this.#pages) if (page.cursor !== undefined) page.from += waiting.length;
    this.#set({ runs: [...waiting, ...runs], waiting: [] });
  }

  /** With the newest page in place of all that is shown. */
  #beginAnew(): void {
    const { runs, nextCursor } = this.#newest;
    this.#pages = [{ cursor: undefined, from: 0 }];
    this.#nextCursor = nextCursor;
    const rest = { hasMore: nextCursor !== null, isLoading: false, error: undefined };
    this.#set({ runs, waiting: [], hasMoreWaiting: false, ...rest });
  }

  /** Right away, such as after an action. */
  async refresh(): Promise<void> {
    clearTimeout(this.#timer);
    const began = performance.now();
    const pages = this.#pages;
    try {
      const [first, last] = this.#range;
      const visible = pages.filter(({ from }, index) => {
        const end = pages[index + 1]?.from ?? Number.POSITIVE_INFINITY;
        return index === 0 || (from <= last && end >= first);
      });
      for (const { cursor } of visible) {
        const page = await this.#ask(cursor);
        if (pages === this.#pages) this.#merge(cursor, page);
      }
      await this.#tryAgain();
    } catch (error) {
      // That the server does not answer is what the frame says. The rows stay as they are.
      if (!(error instanceof ConnectionError)) this.#set({ error });
    }
    this.#schedule(Math.max(REFRESH_MS, SLOWNESS * (performance.now() - began)));
  }

  /** When somebody asks for it. */
  async retry(): Promise<void> {
    if (this.#pages.length === 0) await this.loadMore();
    else await this.refresh();
  }

  /** What was asked for before and could not be had. */
  async #tryAgain(): Promise<void> {
    const { error, isLoading } = this.shown.value;
    if (error === undefined || isLoading || error instanceof ValidationError) return;
    this.#set({ error: undefined });
    if (this.#pages.length === 0) await this.loadMore();
    else this.watch(...this.#range);
  }

  #schedule(ms: number): void {
    if (this.#ended.signal.aborted) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => (document.hidden ? undefined : void this.refresh()), ms);
  }

  readonly #onVisible = () => {
    if (!document.hidden) void this.refresh();
  };

  #ask(cursor: string | undefined) {
    return runsPage({ ...this.filter(), limit: PAGE_SIZE, cursor, signal: this.#ended.signal });
  }

  #merge(cursor: string | undefined, page: Answer): void {
    const { runs, waiting } = this.shown.value;
    const latest = new Map(page.runs.map((run) => [run.runId, run]));
    const isFirst = cursor === undefined;
    const changed = runs.map((run) => same(run, latest.get(run.runId)));
    const known = new Set(runs.map(({ runId }) => runId));
    if (isFirst) {
      this.#newest = page;
      const isNew = (run: Run) => !known.has(run.runId);
      // None that is known: so many have come that the page is full of new ones.
      const hasMoreWaiting =
        runs.length > 0 && page.nextCursor !== null && page.runs.length > 0 && page.runs.every(isNew);
      const end = page.runs.findIndex((run) => !isNew(run));
      const fresh = page.runs.slice(0, end === -1 ? page.runs.length : end);
      this.#set({ runs: changed, waiting: fresh, hasMoreWaiting });
      if (fresh.length > 0 && (runs.length === 0 || !this.#isReading())) this.takeNew();
    } else this.#set({ runs: changed, waiting });
    this.#lookUp(changed, page, latest, isFirst);
  }

  /** Runs that were open and are not on their page any more have become something that the filter leaves out. */
  #lookUp(runs: readonly Run[], page: Answer, latest: ReadonlyMap<string, Run>, isFirst: boolean): void {
    const at = (run: Run | undefined) => runs.findIndex(({ runId }) => runId === run?.runId);
    const first = isFirst ? 0 : at(page.runs[0]);
    const last = page.nextCursor === null ? runs.length - 1 : at(page.runs.at(-1));
    if (first === -1) return;
    const left = runs
      .slice(first, last + 1)
      .filter(({ runId, status }) => status === 'running' && !latest.has(runId));
    for (const run of left.slice(0, LOOKED_UP)) void this.#lookUpOne(run);
  }

  async #lookUpOne({ workflowId, runId }: Run): Promise<void> {
    try {
      const { status, completedAt } = await client
        .handle(workflowId, runId)
        .status({ signal: this.#ended.signal });
      this.#change(runId, (run) => ({
        ...run,
        status,
        summary: null,
        completedAt: completedAt === null ? null : new Date(completedAt).toISOString(),
      }));
    } catch (error) {
      // It has left retention.
      if (error instanceof WorkflowNotFoundError || error instanceof ValidationError) {
        this.#set({ runs: this.shown.value.runs.filter((run) => run.runId !== runId) });
      }
    }
  }

  #change(runId: string, change: (run: Run) => Run): void {
    this.#set({ runs: this.shown.value.runs.map((run) => (run.runId === runId ? change(run) : run)) });
  }

  #set(change: Partial<Shown>): void {
    if (!this.#ended.signal.aborted) this.shown.set({ ...this.shown.value, ...change });
  }
}

/** The run as it was if nothing about it has changed, so that its row is not drawn again. */
function same(run: Run, latest: Run | undefined): Run {
  return latest === undefined || JSON.stringify(run) === JSON.stringify(latest) ? run : latest;
}
