/**
 * The list of runs as it is shown: newest first, as far as somebody has scrolled, and kept up to date.
 *
 * 1. One call every moment asks for the newest page, and one for each other page that is on the screen; never one for
 *    each row.
 * 2. While nobody reads, the list is what the server answers for the filter: runs come to fit it and leave it, wherever
 *    they stand.
 * 3. While somebody reads, what changes changes in its place. No row is taken away or put in between: those that have come
 *    wait in `waiting` until `takeNew`, and one that does not fit the filter any more stays, as what it has become.
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
/** The next page is asked for when so few rows are left below those on the screen. */
const AHEAD = PAGE_SIZE / 4;
/** More than this is nothing to act on from a page. */
export const MOST_AT_ONCE = 5_000;
/** Of the runs that left the filter while somebody reads, so many are looked up at a time. */
const LOOKED_UP = 10;

export interface Shown {
  runs: readonly Run[];
  /** They have come to fit the filter, and are not shown yet. */
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

interface Page extends Answer {
  cursor: string | undefined;
}

/** What a list had when its view was left. */
export interface Kept {
  shown: Shown;
  pages: readonly Page[];
}

export class RunList {
  readonly shown = new Store<Shown>(NOTHING);
  /** As they were last answered: the newest, and what follows as far as it was asked for. */
  #pages: Page[] = [];
  /** When each run that has left the filter was looked up. */
  readonly #lookedUp = new Map<string, number>();
  #loading: Promise<void> | undefined;
  #range: [first: number, last: number] = [0, 0];
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #ended = new AbortController();
  /** The refresh that is under way; a later one takes its place, so that no older answer comes after a newer one. */
  #refreshing = new AbortController();
  #isReading = () => false;

  /** With what another list for the same filter had, it begins there. */
  constructor(
    private readonly filter: () => Filter,
    kept?: Kept,
  ) {
    if (kept === undefined) return;
    this.#pages = [...kept.pages];
    this.shown.set(kept.shown);
  }

  /** `isReading` says whether rows may not move now. */
  start(isReading: () => boolean): void {
    this.#isReading = isReading;
    if (this.#pages.length > 0) void this.refresh();
    else void this.loadMore().then(() => this.#schedule(REFRESH_MS));
    document.addEventListener('visibilitychange', this.#onVisible);
  }

  stop(): void {
    this.#ended.abort();
    clearTimeout(this.#timer);
    document.removeEventListener('visibilitychange', this.#onVisible);
  }

  /** Undefined before its first page is there. */
  keep(): Kept | undefined {
    if (this.#pages.length === 0) return undefined;
    return { shown: { ...this.shown.value, isLoading: false, error: undefined }, pages: this.#pages };
  }

  /** The rows that are on the screen. */
  watch(first: number, last: number): void {
    this.#range = [first, last];
    const { runs, hasMore, isLoading, error } = this.shown.value;
    if (last >= runs.length - AHEAD && hasMore && !isLoading && !error) void this.loadMore();
  }

  /** All that fit the filter, or as many as one acts on at once. */
  async loadAll(): Promise<readonly Run[]> {
    const isWanted = ({ runs, hasMore, error }: Shown) =>
      hasMore && runs.length < MOST_AT_ONCE && error === undefined;
    while (isWanted(this.shown.value) && !this.#ended.signal.aborted) await this.loadMore();
    return this.shown.value.runs;
  }

  loadMore(): Promise<void> {
    this.#loading ??= this.#loadNext().finally(() => {
      this.#loading = undefined;
    });
    return this.#loading;
  }

  async #loadNext(): Promise<void> {
    const pages = this.#pages;
    this.#set({ isLoading: true, error: undefined });
    try {
      const page = await this.#ask(pages.at(-1)?.nextCursor ?? undefined);
      // The list has begun anew meanwhile.
      if (pages !== this.#pages) return;
      pages.push(page);
      const { runs } = this.shown.value;
      this.#set({
        runs: [...runs, ...unknown(page.runs, runs)],
        hasMore: page.nextCursor !== null,
        isLoading: false,
      });
    } catch (error) {
      if (pages === this.#pages) this.#set({ isLoading: false, error });
    }
  }

  /** Shows those that have waited, in their places. */
  takeNew(): void {
    this.#show(this.#pages.slice(0, 1));
  }

  /** These pages in place of all that is shown. */
  #show(pages: Page[]): void {
    this.#pages = pages;
    const before = new Map(this.shown.value.runs.map((run) => [run.runId, run]));
    const runs = pages.flatMap((page) => page.runs).map((run) => same(before.get(run.runId), run));
    const hasMore = pages.at(-1)!.nextCursor !== null;
    this.#lookedUp.clear();
    this.#set({ runs, waiting: [], hasMoreWaiting: false, hasMore, isLoading: false });
  }

  /** Right away, such as after an action. */
  async refresh(): Promise<void> {
    clearTimeout(this.#timer);
    const began = performance.now();
    this.#refreshing.abort();
    const refreshing = new AbortController();
    this.#refreshing = refreshing;
    const signal = AbortSignal.any([refreshing.signal, this.#ended.signal]);
    try {
      // Without a first page there is nothing to bring up to date.
      if (this.#pages.length > 0) {
        if (this.#mayMove()) await this.#askAnew(signal);
        else await this.#askInPlace(signal);
      }
      await this.#tryAgain();
    } catch (error) {
      if (signal.aborted) return;
      // That the server does not answer is what the frame says. The rows stay as they are.
      if (!(error instanceof ConnectionError)) this.#set({ error });
    }
    this.#schedule(Math.max(REFRESH_MS, SLOWNESS * (performance.now() - began)));
  }

  #mayMove(): boolean {
    return !this.#isReading();
  }

  /** From the newest to below what is on the screen; what was further down is asked for when somebody scrolls there. */
  async #askAnew(signal: AbortSignal): Promise<void> {
    const before = this.#pages;
    const pages: Page[] = [];
    let count = 0;
    do {
      const page = await this.#ask(pages.at(-1)?.nextCursor ?? undefined, signal);
      pages.push(page);
      count += page.runs.length;
    } while (pages.at(-1)!.nextCursor !== null && this.#range[1] >= count - AHEAD);
    if (before !== this.#pages) return;
    if (this.#mayMove()) this.#show(pages);
    else this.#merge(0, pages[0]!);
  }

  /** The newest page, and those on the screen. */
  async #askInPlace(signal: AbortSignal): Promise<void> {
    const pages = this.#pages;
    const [first, last] = this.#range;
    const at = this.#placeOf();
    const starts = pages.map(({ runs }) => at.get(runs[0]?.runId ?? '') ?? 0);
    for (const [index, { cursor }] of [...pages.entries()]) {
      const end = starts[index + 1] ?? Number.POSITIVE_INFINITY;
      if (index > 0 && (starts[index]! > last || end < first)) continue;
      const page = await this.#ask(cursor, signal);
      if (pages !== this.#pages) return;
      this.#merge(index, page);
    }
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

  async #ask(cursor: string | undefined, signal = this.#ended.signal): Promise<Page> {
    const query = { ...this.filter(), limit: PAGE_SIZE, cursor, signal };
    return { ...(await runsPage(query)), cursor };
  }

  /** Takes over what is known of the rows that are shown, and lets the others wait. */
  #merge(index: number, page: Page): void {
    this.#pages[index] = page;
    const latest = new Map(this.#pages.flatMap(({ runs }) => runs).map((run) => [run.runId, run]));
    for (const run of page.runs) latest.set(run.runId, run);
    const answered = new Set(page.runs.map(({ runId }) => runId));
    const runs = this.shown.value.runs.map((run) =>
      answered.has(run.runId) ? same(run, latest.get(run.runId)!) : run,
    );
    const waiting = unknown([...latest.values()], runs);
    const newest = this.#pages[0]!;
    // None that is known: so many have come that the page is full of new ones.
    const hasMoreWaiting =
      newest.nextCursor !== null && unknown(newest.runs, runs).length === newest.runs.length;
    this.#set({ runs, waiting, hasMoreWaiting });
    this.#lookUp(index, page);
  }

  /** Runs that should be on the page and are not have become something that the filter leaves out. */
  #lookUp(index: number, page: Page): void {
    const { runs } = this.shown.value;
    const at = this.#placeOf();
    const place = (run: Run | undefined) => at.get(run?.runId ?? '') ?? -1;
    const first = index === 0 ? 0 : place(page.runs[0]);
    const last = page.nextCursor === null ? runs.length - 1 : place(page.runs.at(-1));
    if (first === -1) return;
    const there = new Set(this.#pages.flatMap((each) => each.runs.map(({ runId }) => runId)));
    const when = ({ runId }: Run) => this.#lookedUp.get(runId) ?? 0;
    const left = runs
      .slice(first, last + 1)
      .filter(({ runId, status }) => status === 'running' && !there.has(runId))
      .sort((a, b) => when(a) - when(b));
    for (const run of left.slice(0, LOOKED_UP)) void this.#lookUpOne(run);
  }

  #placeOf(): Map<string, number> {
    return new Map(this.shown.value.runs.map(({ runId }, index) => [runId, index]));
  }

  async #lookUpOne(asked: Run): Promise<void> {
    const { workflowId, runId } = asked;
    this.#lookedUp.set(runId, performance.now());
    try {
      const { status, completedAt, paused, heldBack } = await client
        .handle(workflowId, runId)
        .status({ signal: this.#ended.signal });
      const answer = {
        ...{ status, paused, heldBack, summary: null },
        completedAt: completedAt === null ? null : new Date(completedAt).toISOString(),
      };
      // What the list has said of it meanwhile is newer.
      this.#change(runId, (run) => (run === asked ? { ...run, ...answer } : run));
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
function same(run: Run | undefined, latest: Run): Run {
  return run !== undefined && JSON.stringify(run) === JSON.stringify(latest) ? run : latest;
}

function unknown(runs: readonly Run[], known: readonly Run[]): Run[] {
  const ids = new Set(known.map(({ runId }) => runId));
  return runs.filter(({ runId }) => !ids.has(runId));
}
