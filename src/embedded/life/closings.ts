/**
 * The end of a run is that of its children, or asks for it. Of a few it is made in the commit that closes the run; of a large
 * family piece by piece, since thousands of histories that have to be read would keep everybody waiting.
 *
 * 1. What is on disk with the end of the run, before anybody is told of it, is that some of its children are still to end. It
 *    goes with the last of them; what the last process has left is looked for at the start.
 * 2. A child that is still to end gets nothing done any more: whoever takes it up, for a turn, a step or a message, finds
 *    that its end has come first.
 * 3. Children that have children count with them: a piece is as large whatever the shape of the tree.
 */
import { faultPoint } from '../../core/fault-point.js';
import type { Kernel } from '../kernel.js';
import type { PendingChild } from '../state/run-state.js';
import type { ActiveRun } from '../store/active-run.js';
import type { Damage } from './damage.js';
import type { Lifecycle, RunClosed } from './lifecycle.js';
import { Piece, type Piecemeal } from './piecemeal.js';

/** One that was started. */
type Child = PendingChild & { runId: string };

/** The children that end with a run. */
interface Family {
  key: number;
  workflowId: string;
  /** While its end is not on disk: what is made of the children until then belongs to the same commit. */
  closing: ActiveRun | undefined;
  children: readonly Child[];
  /** How many of them have been looked at. */
  seen: number;
  isMarked: boolean;
}

export class Closings {
  /** Those of which some are still to end. */
  #waiting: Family[] = [];
  /** The children that are still to end, by the first runs of their chains. */
  readonly #toEnd = new Map<string, { child: Child; family: Family }>();
  /** Of the piece that is being made. */
  #piece: Family[] | undefined;
  #isGoingOn = false;

  constructor(
    private readonly kernel: Kernel,
    private readonly lifecycle: Lifecycle,
    private readonly damage: Damage,
    private readonly piecemeal: Piecemeal,
  ) {}

  /** Before any other run is taken up: it may be one of those that are still to end. */
  start(): void {
    for (const runId of this.damage.contain(() => this.kernel.tables.closingRuns()) ?? []) {
      const run = this.damage.contain(() => this.kernel.runs.get(runId));
      if (run) this.#waiting.push(this.#familyOf(run, true));
    }
    this.#goOn();
  }

  closed({ run, isReset }: RunClosed): void {
    if (isReset) return;
    const family = this.#familyOf(run, false);
    if (family.children.length === 0) return;
    if (this.#piece) this.#piece.push(family);
    else this.#endSome([family]);
  }

  /** Of all that closes in the action, as many children end at once as of one run. */
  gather(action: () => void): void {
    if (this.#piece) {
      action();
      return;
    }
    const families: Family[] = [];
    this.#piece = families;
    try {
      action();
    } finally {
      this.#piece = undefined;
      this.#endSome(families);
    }
  }

  /** Somebody takes the run up. */
  taken(run: ActiveRun): void {
    if (this.#toEnd.size === 0 || run.isClosed) return;
    const { firstExecutionRunId } = run.state.started;
    const found = this.#toEnd.get(firstExecutionRunId);
    if (!found) return;
    this.#toEnd.delete(firstExecutionRunId);
    this.#end(run, found.child, found.family);
  }

  /** Whether children of the workflow's closed runs are still to end. */
  isEndingFor(workflowId: string): boolean {
    return this.#waiting.some((family) => family.workflowId === workflowId);
  }

  #familyOf(run: ActiveRun, isMarked: boolean): Family {
    const children = [...run.state.children.values()].filter(endsWithParent);
    const { workflowId } = run.state;
    const closing = isMarked ? undefined : run;
    const family = { key: run.key, workflowId, closing, children, seen: 0, isMarked };
    for (const child of children) this.#toEnd.set(child.runId, { child, family });
    return family;
  }

  #endSome(families: Family[], most = this.kernel.limits.childrenEndedAtOnce): void {
    const piece = new Piece(most);
    this.#piece = families;
    try {
      // It grows while it is gone through.
      for (const family of families) {
        while (!piece.isFull && family.seen < family.children.length) {
          const child = family.children[family.seen++]!;
          piece.took(this.damage.contain(() => this.#endNext(child, family)) ?? 0);
        }
      }
    } finally {
      this.#piece = undefined;
    }
    for (const family of families) {
      if (family.seen === family.children.length) this.#unmark(family);
      else {
        this.#mark(family);
        this.#waiting.push(family);
      }
    }
    this.#goOn();
  }

  /** Returns what it cost to read it. */
  #endNext(child: Child, family: Family): number {
    // Somebody may have taken it up before.
    if (!this.#toEnd.delete(child.runId)) return 0;
    const run = this.kernel.runs.open(child.workflowId);
    // Its first run may have been removed by now; the later ones of its chain know that run's id.
    if (run?.state.started.firstExecutionRunId !== child.runId) return 0;
    this.#end(run, child, family);
    return run.readingCost;
  }

  #end(run: ActiveRun, { parentClosePolicy }: Child, { closing }: Family): void {
    const { commit } = this.kernel;
    if (closing) commit.together(closing, run);
    // What says that it is still to end may go with the next commit, so this is not kept back.
    commit.hurry();
    if (parentClosePolicy === 'REQUEST_CANCEL') this.lifecycle.cancel(run, 'the parent closed');
    else {
      this.lifecycle.endFromOutside(run, {
        type: 'WORKFLOW_EXECUTION_TERMINATED',
        attributes: { reason: 'the parent closed' },
      });
    }
    faultPoint('parentCloses');
  }

  #mark(family: Family): void {
    if (family.isMarked) return;
    family.isMarked = true;
    const { commit, tables } = this.kernel;
    const { key, closing } = family;
    let isWritten = false;
    const mark = () => {
      isWritten = false;
      tables.closings.mark(key);
      isWritten = true;
    };
    commit.write(mark, closing);
    commit.afterCommit(() => {
      family.closing = undefined;
      // The run could not be saved, so it has not closed.
      if (!isWritten) this.#drop(family);
    });
  }

  #unmark({ key, isMarked }: Family): void {
    if (isMarked) this.kernel.commit.write(() => this.kernel.tables.closings.unmark(key));
  }

  #drop(family: Family): void {
    this.#waiting = this.#waiting.filter((each) => each !== family);
    for (const [runId, each] of this.#toEnd) if (each.family === family) this.#toEnd.delete(runId);
  }

  #goOn(): void {
    if (this.#isGoingOn || this.#waiting.length === 0) return;
    this.#isGoingOn = true;
    this.piecemeal.goOn(() => {
      this.#isGoingOn = false;
      this.#endSome(this.#waiting.splice(0), Math.max(1, this.kernel.limits.childrenEndedAtOnce));
    });
  }
}

const endsWithParent = (child: PendingChild): child is Child =>
  child.runId !== undefined && child.parentClosePolicy !== 'ABANDON';
