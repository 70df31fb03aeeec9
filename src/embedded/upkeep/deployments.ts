/**
 * Code that was not connected has come: it may fit runs that the connected code did not. A bad deployment can have held back
 * thousands, so they are tried a few at a time. What the process does not get to is tried when code comes to the next one.
 */
import type { HeldBackRuns } from '../delivery/held-back.js';
import type { Kernel } from '../kernel.js';
import type { Damage } from '../life/damage.js';
import type { Piecemeal } from '../life/piecemeal.js';
import { turnNeed } from '../workers/task-need.js';
import type { WorkerConnection } from '../workers/worker-connection.js';

/** Runs tried before other work gets its turn. */
const BATCH = 50;

export class Deployments {
  constructor(
    private readonly kernel: Kernel,
    private readonly heldBack: HeldBackRuns,
    private readonly damage: Damage,
    private readonly piecemeal: Piecemeal,
  ) {}

  /** Code that is known not to fit a run does not try it again. */
  came(worker: WorkerConnection, catalog: string, triedUpTo = 0): void {
    const { runs, tables } = this.kernel;
    const some = tables.runs.heldBack(catalog, triedUpTo, BATCH);
    for (const { runId, workflowType, misfits } of some) {
      if (!worker.has(turnNeed(workflowType, misfits))) continue;
      const run = this.damage.contain(() => runs.get(runId));
      if (run) this.heldBack.retry(run, true);
    }
    const last = some.at(-1);
    if (last) this.piecemeal.goOn(() => this.came(worker, catalog, last.key));
  }
}
