/**
 * Warns of runs that wait for nobody: a catalog that has open runs and no worker, a workflow or a step that no connected
 * worker has. Each is told once, until somebody has come for it and left again.
 */
import type { Timer } from '../../core/clock.js';
import type { Log } from '../../core/log.js';
import type { Kernel } from '../kernel.js';
import type { Catalogs } from '../store/catalogs.js';
import type { Unattended as Waiting } from '../workers/dispatcher.js';

/** What is met at two looks in a row is no restart of a worker any more. */
export const LOOK_MS = 5_000;

type State = 'seen' | 'idle' | 'told';

export class Unattended {
  #states = new Map<string, State>();
  #timer: Timer | undefined;

  constructor(
    private readonly kernel: Kernel,
    private readonly catalogs: Catalogs,
    private readonly log: Log,
  ) {}

  start(): void {
    this.#timer = this.kernel.scheduler.after(
      LOOK_MS,
      () => {
        this.#look();
        this.start();
      },
      true,
    );
  }

  stop(): void {
    this.#timer?.cancel();
  }

  #look(): void {
    const { dispatcher } = this.kernel;
    const before = this.#states;
    this.#states = new Map();
    const waiting = dispatcher.unattended();
    const catalogs = new Set([...this.catalogs.names, ...waiting.map(({ catalog }) => catalog)]);
    for (const catalog of catalogs) {
      if (dispatcher.hasWorkers(catalog)) continue;
      const isWaiting = waiting.some((each) => each.catalog === catalog);
      this.#states.set(catalog, this.#catalog(catalog, before.get(catalog), isWaiting));
    }
    for (const each of waiting) {
      if (!dispatcher.hasWorkers(each.catalog)) continue;
      const key = [each.catalog, each.workflowType, each.stepName].join(' ');
      const state = before.get(key);
      if (state === 'seen') this.#tellOfCode(each);
      this.#states.set(key, state === undefined ? 'seen' : 'told');
    }
  }

  /** Runs that sleep wait as well; whether there are any is asked once, since it takes a look at the disk. */
  #catalog(catalog: string, before: State | undefined, isWaiting: boolean): State {
    if (before === 'told' || before === undefined) return before ?? 'seen';
    if (before === 'idle') return isWaiting ? 'seen' : 'idle';
    if (!isWaiting && !this.kernel.tables.runs.hasOpen(catalog)) return 'idle';
    this.log.warn(
      { catalog },
      `catalog "${catalog}" has open runs and no worker: they wait until one is started, such as with "perdure worker FOLDER --catalog ${catalog}"`,
    );
    return 'told';
  }

  #tellOfCode({ catalog, workflowType, stepName }: Waiting): void {
    const what = stepName === undefined ? `workflow "${workflowType}"` : `step "${workflowType}#${stepName}"`;
    this.log.warn(
      { catalog, workflowType, ...(stepName !== undefined && { stepName }) },
      `${what} of catalog "${catalog}" is in the code of no connected worker: what needs it waits until one is started that has it`,
    );
  }
}
