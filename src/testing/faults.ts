/** The points at which something goes wrong on purpose: right after a commit, or on the way of an answer to the engine. */
import type { FromWorker } from '../core/task.js';
import type { Fate } from './local-worker.js';
import type { Faults } from './stage.js';

/** What goes wrong, and the how many-th commit or answer of the program it is that it happens to. */
export interface FaultPoint {
  fault: 'crash' | 'lost' | 'late' | 'twice';
  of: 'commit' | 'step' | 'turn';
  at: number;
}

const WORDS: Record<FaultPoint['fault'], string> = {
  crash: 'crash after',
  lost: 'worker lost with',
  late: 'late',
  twice: 'twice',
};

/** As people read it, and write it to have it again. */
export const nameOfPoint = ({ fault, of, at }: FaultPoint): string => `${WORDS[fault]} ${of} ${at}`;

const JOINED = ' + ';

export const nameOfPlan = (points: readonly FaultPoint[]): string => points.map(nameOfPoint).join(JOINED);

/** The points that `nameOfPlan` has named; undefined for any other text. */
export function planNamed(name: string): FaultPoint[] | undefined {
  const points = name.split(JOINED).map(pointNamed);
  return points.every((point) => point !== undefined) ? points : undefined;
}

function pointNamed(name: string): FaultPoint | undefined {
  for (const fault of Object.keys(WORDS) as FaultPoint['fault'][]) {
    const match = new RegExp(`^${WORDS[fault]} (commit|step|turn) (\\d+)$`).exec(name);
    const of = match?.[1] as FaultPoint['of'];
    // A commit is what a crash comes after, and nothing else.
    if (match && (of === 'commit') === (fault === 'crash')) return { fault, of, at: Number(match[2]) };
  }
  return undefined;
}

/** Counts what there is to go wrong, and lets it where the plan says so. */
export class PlannedFaults implements Faults {
  readonly counted = { commit: 0, step: 0, turn: 0 };
  /** What had just happened, at each point of the plan that was met. */
  readonly met: string[] = [];

  constructor(private readonly plan: readonly FaultPoint[]) {}

  killsAfterCommit(what: () => string): boolean {
    const point = this.#next('commit');
    if (point) this.met.push(what());
    return point !== undefined;
  }

  fateOf(answer: FromWorker): Fate {
    const of = KIND_OF[answer.kind];
    const fault = of && this.#next(of)?.fault;
    return fault === undefined || fault === 'crash' ? 'arrives' : fault;
  }

  /** Points of the plan that there were none of. */
  get unmet(): FaultPoint[] {
    return this.plan.filter(({ of, at }) => at < 1 || at > this.counted[of]);
  }

  #next(of: FaultPoint['of']): FaultPoint | undefined {
    const at = ++this.counted[of];
    return this.plan.find((point) => point.of === of && point.at === at);
  }
}

const KIND_OF: Partial<Record<FromWorker['kind'], 'step' | 'turn'>> = {
  stepCompleted: 'step',
  stepFailed: 'step',
  stepCancelled: 'step',
  turnCompleted: 'turn',
};
