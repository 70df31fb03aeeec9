/** What has been spent, as the API answers it: totals, sums by steps, and the records page by page. */
import type { BudgetState } from '../../core/cost/budget.js';
import type { CostRecord } from '../../core/cost/cost.js';
import {
  type ActivitySum,
  ActivitySums,
  type CostScope,
  type RunCosts,
  RunSums,
  type StepSum,
  type Total,
} from '../../core/cost/sums.js';
import { PerdureError } from '../../core/errors.js';
import { isRunId } from '../../core/values/names.js';
import type { CostReport, RunSelector } from '../../engine.js';

export type WireCost = Omit<CostRecord, 'at'> & { at: string; workflowId: string; runId: string };

export interface CostBody {
  workflowId: string;
  runId: string;
  scope: CostScope;
  totals: Total[];
  usage: Record<string, number>;
  bySteps: StepSum[];
  byActivities?: ActivitySum[];
  records: WireCost[];
  nextCursor: string | null;
  budget: BudgetState | null;
}

/**
 * One page of the records of any number of runs, which it is given one after the other, and the sums over all of them. It
 * holds a few pages at most, whatever the runs have spent.
 */
export class CostPage {
  readonly #sums = new RunSums();
  readonly #after: Cursor | undefined;
  readonly #activities: ActivitySums | undefined;
  #found: Placed[] = [];

  /** @throws ValidationError for a cursor that is none */
  constructor(
    private readonly limit: number,
    cursor: string | undefined,
    { activities = false }: { activities?: boolean } = {},
  ) {
    this.#activities = activities ? new ActivitySums() : undefined;
    this.#after = cursor === undefined ? undefined : decodeCursor(cursor);
  }

  /** Pages that follow another are of its run, also where the latest is another one by now. @throws ValidationError */
  runOf(selector: RunSelector): RunSelector {
    if (!this.#after) return selector;
    const { ofRunId } = this.#after;
    if (selector.runId !== undefined && selector.runId !== ofRunId) throw noCursor('is of another run');
    return { ...selector, runId: ofRunId };
  }

  readonly take = (run: RunCosts): void => {
    this.#sums.add(run);
    const counts = new Map<string, number>();
    for (const record of run.records) {
      this.#activities?.add(record);
      const { at, activityId } = record;
      const ofStep = counts.get(activityId) ?? 0;
      counts.set(activityId, ofStep + 1);
      const place: Place = [at, run.runId, activityId, ofStep];
      if (this.#after && byPlace(place, this.#after.place) <= 0) continue;
      this.#found.push({ place, record, workflowId: run.workflowId });
      if (this.#found.length > KEPT_PAGES * (this.limit + 1)) this.#forgetFarOnes();
    }
  };

  body({ workflowId, runId, budget }: CostReport, scope: CostScope): CostBody {
    this.#forgetFarOnes();
    const page = this.#found.slice(0, this.limit);
    const { totals, usage, bySteps } = this.#sums;
    return {
      ...{ workflowId, runId, scope, totals, usage, bySteps },
      ...(this.#activities && { byActivities: this.#activities.byActivities }),
      records: page.map(({ record, workflowId, place: [, runId] }) =>
        wireCost(record, { workflowId, runId }),
      ),
      nextCursor:
        this.#found.length > this.limit ? encodeCursor({ ofRunId: runId, place: page.at(-1)!.place }) : null,
      budget,
    };
  }

  /** Those of the page stay, and one more, which says that there is another page. */
  #forgetFarOnes(): void {
    this.#found.sort((a, b) => byPlace(a.place, b.place));
    this.#found.length = Math.min(this.#found.length, this.limit + 1);
  }
}

/** Sorting that many at a time costs little for each, and they are not much to hold. */
const KEPT_PAGES = 4;

/** A record among all: records come with time, so one that comes later has its place behind those that were read. */
type Place = [at: number, runId: string, activityId: string, ofStep: number];

interface Placed {
  place: Place;
  record: CostRecord;
  workflowId: string;
}

function byPlace(a: Place, b: Place): number {
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return a[i]! < b[i]! ? -1 : 1;
  return 0;
}

export function wireCost(
  { at, stepName, activityId, attempt, kind, label, currency, amount, usage }: CostRecord,
  { workflowId, runId }: { workflowId: string; runId: string },
): WireCost {
  return {
    ...{ at: new Date(at).toISOString(), workflowId, runId, stepName, activityId, attempt },
    ...{ kind, label, currency, amount, usage },
  };
}

interface Cursor {
  /** The run that was asked for. */
  ofRunId: string;
  /** The last record that was given. */
  place: Place;
}

const encodeCursor = ({ ofRunId, place }: Cursor): string =>
  Buffer.from(JSON.stringify(['cost', ofRunId, ...place])).toString('base64url');

function decodeCursor(text: string): Cursor {
  try {
    const [what, ofRunId, ...place] = JSON.parse(Buffer.from(text, 'base64url').toString()) as [
      string,
      string,
      ...Place,
    ];
    const [at, runId, activityId, ofStep] = place;
    const isPlace =
      Number.isSafeInteger(at) &&
      typeof runId === 'string' &&
      typeof activityId === 'string' &&
      Number.isSafeInteger(ofStep);
    const cursor = { ofRunId, place };
    if (what === 'cost' && isRunId(ofRunId) && isPlace && encodeCursor(cursor) === text) return cursor;
  } catch {
    // It is told below.
  }
  throw noCursor('not a cursor that this server gave');
}

const noCursor = (message: string): PerdureError =>
  new PerdureError('ValidationError', 'Invalid Payload', {
    issues: [{ path: ['cursor'], message, code: 'invalid_cursor' }],
  });
