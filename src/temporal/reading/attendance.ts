/**
 * Who comes and goes, for the log of a server: workers poll the cluster and not the server, so it looks from time to time
 * at who does. Of a catalog that has open runs and nobody who polls for it, it warns once, until somebody has come.
 */
import type { Log } from '../../core/log.js';
import { versionLabel } from '../../core/run/version.js';
import type { Engine, WorkerDescription } from '../../engine.js';

const LOOK_MS = 15_000;

type Cluster = Pick<Engine, 'workers' | 'list'>;

export class Attendance {
  #present = new Map<string, WorkerDescription>();
  /** Those that have had a worker, or should have one, and how many looks in a row have found none. */
  readonly #absences = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(
    private readonly cluster: Cluster,
    catalog: string,
    private readonly log: Log,
    private readonly lookMs = LOOK_MS,
  ) {
    this.#absences.set(catalog, 0);
  }

  start(): void {
    if (this.#isStopped) return;
    this.#timer = setTimeout(() => {
      // A cluster that is away is told of by those who call it.
      void this.look()
        .catch(() => undefined)
        .finally(() => this.start());
    }, this.lookMs).unref();
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  async look(): Promise<void> {
    const workers = await this.cluster.workers();
    if (this.#isStopped) return;
    const before = this.#present;
    this.#present = new Map(workers.map((worker) => [`${worker.catalog}/${worker.id}`, worker]));
    for (const [key, worker] of this.#present) if (!before.has(key)) this.#tell(worker, 'has come');
    for (const [key, worker] of before) {
      if (!this.#present.has(key)) this.#tell(worker, 'is gone: it polls no more');
    }
    const attended = new Set(workers.map(({ catalog }) => catalog));
    for (const catalog of attended) this.#absences.set(catalog, 0);
    for (const [catalog, looks] of this.#absences) {
      if (!attended.has(catalog)) await this.#missWorkers(catalog, looks);
    }
  }

  #tell({ id, catalog, version }: WorkerDescription, what: string): void {
    const code = version ? `, version ${versionLabel(version)}` : '';
    this.log.info(
      { worker: id, catalog, ...(version && { version: version.id }) },
      `worker ${id} ${what} (catalog "${catalog}"${code})`,
    );
  }

  /** The second look in a row is no restart of a worker any more; whether there are runs is asked until there are. */
  async #missWorkers(catalog: string, looks: number): Promise<void> {
    if (looks > 1) return;
    if (looks === 0) {
      this.#absences.set(catalog, 1);
      return;
    }
    const { runs } = await this.cluster.list({ catalog, status: 'running' }, { limit: 1 });
    if (runs.length === 0) return;
    this.#absences.set(catalog, 2);
    this.log.warn(
      { catalog },
      `catalog "${catalog}" has open runs and no worker: they wait until one is started, such as with "perdure worker FOLDER --catalog ${catalog}"`,
    );
  }
}
