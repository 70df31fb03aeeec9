/** A run of which what is stored is damaged: what it was doing ends, and whoever waits for it is told. */
import type { PerdureError } from '../../core/errors.js';
import type { Log } from '../../core/log.js';
import type { Kernel } from '../kernel.js';
import type { ActiveRun } from '../store/active-run.js';
import { storageFailure } from '../store/damage.js';
import type { SetApart } from '../store/runs.js';
import type { Lifecycle } from './lifecycle.js';

export class Damage {
  constructor(
    private readonly kernel: Kernel,
    private readonly lifecycle: Lifecycle,
    private readonly stopSteps: (run: ActiveRun) => void,
    private readonly log: Log,
  ) {}

  setApart({ workflowId, runId, key, reason, error, run }: SetApart): void {
    const { commit, tables, dispatcher } = this.kernel;
    this.log.error(
      { workflowId, runId, reason },
      'what is stored of a run is damaged: it is set apart, the others go on',
    );
    if (run) {
      const together = commit.boundTo(run);
      commit.exclude(run);
      this.lifecycle.abandonTurn(run);
      this.stopSteps(run);
      dispatcher.forget(runId, true);
      for (const query of run.queries.splice(0)) query.refuse(error);
      for (const update of [...run.admitted.splice(0), ...run.accepted.values()]) {
        update.resolve({ kind: 'refused', error });
      }
      run.accepted.clear();
      for (const { key: other, state } of together) {
        const ref = { workflowId: state.workflowId, runId: state.runId, key: other };
        this.kernel.runs.setApart(ref, `it has changed together with run ${runId}, of which ${reason}`);
      }
    }
    if (run?.isNew) this.kernel.trees.closed(run.state);
    else commit.write(() => tables.runs.setApart(key, reason));
  }

  /**
   * Runs what may read of runs. One that turns out to be damaged is set apart, and nothing else comes of it; where the disk
   * fails otherwise the engine stops.
   */
  contain<T>(action: () => T): T | undefined {
    try {
      return action();
    } catch (error) {
      if (this.explain(error)) {
        this.log.error({ err: error }, 'a part of the database cannot be read');
        return undefined;
      }
      if (!this.kernel.commit.hasFailed) throw error;
      return undefined;
    }
  }

  /**
   * What a transition threw, as a caller is told of it: a run that is damaged is set apart. Undefined for what is no
   * damage; where the disk has failed, the engine has stopped by then.
   */
  explain(thrown: unknown): PerdureError | undefined {
    let error = thrown;
    try {
      const explained = this.kernel.runs.explain(error);
      if (explained) return explained;
    } catch (failure) {
      error = failure;
    }
    if (storageFailure(error) !== 'definite') this.kernel.commit.fail(error as Error);
    return undefined;
  }
}
