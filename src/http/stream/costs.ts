/**
 * What a run has spent, as its streams tell it. Spending makes no events, so a run with readers who want to know is
 * looked at about once a second, once for all of them.
 */
import { monotonicMs } from '../../core/clock.js';
import type { CostRecord } from '../../core/cost/cost.js';
import { type Sum, sumOf } from '../../core/cost/sums.js';
import type { Engine, RunRef } from '../../engine.js';
import { wireCost } from '../wire/costs.js';
import { costFrame } from './frames.js';

export const COST_LOOK_MS = 1_000;
/** What was read this short a time ago is good enough for another reader. */
const SHARED_MS = 500;
/** A run that takes long to look at is looked at less often: it costs a tenth of the time at most. */
const SHARED_PER_READ = 10;
/** In one frame, so that a slow reader has no more than that on its way. */
const RECORDS_PER_FRAME = 500;

/** What a run had spent when it was looked at. */
export interface Spent {
  records: CostRecord[];
  sum: Sum;
}

interface Look {
  until: number;
  spent: Promise<Spent>;
}

export class CostLooks {
  readonly #looks = new Map<string, Look>();

  constructor(private readonly engine: Engine) {}

  /** With `isLast` nothing that was read before is good enough: the run has ended since. */
  read(run: RunRef, isLast: boolean): Promise<Spent> {
    const now = monotonicMs();
    const known = this.#looks.get(run.runId);
    if (known && !isLast && now < known.until) return known.spent;
    for (const [runId, { until }] of this.#looks) if (now >= until) this.#looks.delete(runId);
    const look: Look = { until: now + SHARED_MS, spent: this.#look(run) };
    this.#looks.set(run.runId, look);
    const isRead = () => {
      const took = monotonicMs() - now;
      look.until = Math.max(look.until, now + SHARED_PER_READ * took);
    };
    look.spent.then(isRead, isRead);
    return look.spent;
  }

  async #look(run: RunRef): Promise<Spent> {
    const records: CostRecord[] = [];
    await this.engine.cost(run, 'run', (costs) => {
      for (const record of costs.records) records.push(record);
    });
    return { records, sum: sumOf(records) };
  }
}

/** Up to which record of a step a reader has been told: those of a step come in the order of their time. */
interface Told {
  at: number;
  /** Of that very instant. */
  count: number;
}

/** What one reader has been told so far. */
export class CostFeed {
  readonly #told = new Map<string, Told>();
  readonly #untold: CostRecord[] = [];
  #sum: Sum | undefined;
  /** The first frame is there in any case. */
  #isFirst = true;

  constructor(
    private readonly looks: CostLooks,
    private readonly run: RunRef,
  ) {}

  get hasMore(): boolean {
    return this.#untold.length > 0;
  }

  look(isLast: boolean): Promise<Spent> {
    return this.looks.read(this.run, isLast);
  }

  /** What was seen is to be told. */
  take({ records, sum }: Spent): void {
    this.#sum = sum;
    for (const record of this.#fresh(records)) this.#untold.push(record);
  }

  /** A frame with what is new; undefined when there is nothing. */
  next(): string | undefined {
    if (!this.#sum || !(this.hasMore || this.#isFirst)) return undefined;
    this.#isFirst = false;
    const { totals, usage } = this.#sum;
    const records = this.#untold.splice(0, RECORDS_PER_FRAME);
    return costFrame({ totals, usage, records: records.map((record) => wireCost(record, this.run)) });
  }

  /** Older ones may have been summed up meanwhile, so it is not by their number that those are known that were told. */
  #fresh(records: readonly CostRecord[]): CostRecord[] {
    const fresh: CostRecord[] = [];
    const now = new Map<string, Told>();
    for (const record of records) {
      const { activityId, at } = record;
      const seen = now.get(activityId);
      const count = seen?.at === at ? seen.count + 1 : 1;
      now.set(activityId, { at, count });
      const told = this.#told.get(activityId);
      if (!told || at > told.at || (at === told.at && count > told.count)) fresh.push(record);
    }
    for (const [activityId, told] of now) this.#told.set(activityId, told);
    return fresh;
  }
}
