/** Looks, again and again, whether a run is held back although code that fits it is connected. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { EmbeddedEngine } from '../../src/embedded/index.js';
import type { RunSummary, WorkerDescription } from '../../src/engine.js';

const LOOK_MS = 250;
/** What is so for all of this time is no worker that has just come, or is about to be known as gone. */
const TOO_LONG_MS = 15_000;

interface Suspect {
  since: number;
  /** A worker whose code fits it, and that has been there all the time. */
  workerId: string;
}

export class Watch {
  readonly problems: string[] = [];
  readonly #everHeldBack = new Set<string>();
  readonly #told = new Set<string>();
  #suspects = new Map<string, Suspect>();

  constructor(private readonly engine: EmbeddedEngine) {}

  get heldBackEver(): number {
    return this.#everHeldBack.size;
  }

  async look(deadline: number): Promise<void> {
    while (performance.now() < deadline) {
      await this.#lookOnce();
      await sleep(LOOK_MS);
    }
  }

  async #lookOnce(): Promise<void> {
    const workers = await this.engine.workers();
    const { runs } = await this.engine.list({ heldBack: true }, { limit: 1_000 });
    const now = performance.now();
    const before = this.#suspects;
    this.#suspects = new Map();
    for (const run of runs) {
      this.#everHeldBack.add(run.runId);
      const fitting = await this.#fitting(run, workers);
      // It was there when the run was held back, and has been since.
      const wasThere = fitting.some(({ connectedAt }) => connectedAt! < run.heldBack!.since);
      if (wasThere && !this.#told.has(run.runId)) {
        this.#told.add(run.runId);
        this.problems.push(
          `${run.workflowId} was held back beside a worker of its own code: ${run.heldBack!.reason}`,
        );
      }
      const known = before.get(run.runId);
      const same = fitting.find(({ id }) => id === known?.workerId);
      if (known && same) {
        this.#suspects.set(run.runId, known);
        if (now - known.since > TOO_LONG_MS) {
          this.problems.push(
            `${run.workflowId} is held back beside a worker of its own code: ${run.heldBack!.reason}`,
          );
        }
      } else if (fitting[0]) this.#suspects.set(run.runId, { since: now, workerId: fitting[0].id });
    }
  }

  /** The code that made its last turn fits its history for certain. */
  async #fitting(run: RunSummary, workers: WorkerDescription[]): Promise<WorkerDescription[]> {
    const { version } = await this.engine.describe(run);
    return workers.filter((worker) => worker.state === 'working' && worker.version?.id === version?.id);
  }
}
