/** Catalogs whose open runs nobody works on. */
import type { RunListEntry, Workers } from 'perdure/client';

type Worker = Workers['workers'][number];

export interface Unserved {
  catalog: string;
  openRuns: number;
  /** Workflows of those runs that no connected worker of the catalog has; empty where there is no worker at all. */
  workflows: string[];
}

/** Those of the catalogs that none of the workers serves. */
export function deserted(catalogs: readonly string[], workers: readonly Worker[]): string[] {
  const served = new Set(workers.map(({ catalog }) => catalog));
  return [...new Set(catalogs)].filter((catalog) => !served.has(catalog)).sort();
}

/** Of the open runs that were looked at. */
export function unserved(
  runs: readonly Pick<RunListEntry, 'catalog' | 'workflowType'>[],
  workers: readonly Worker[],
): Unserved[] {
  const found = new Map<string, Unserved>();
  for (const { catalog, workflowType } of runs) {
    const serving = workers.filter((worker) => worker.catalog === catalog);
    // A worker whose workflows are not known is taken to have what it is asked for.
    const isServed = serving.some(({ workflows }) => workflows === null || workflows.includes(workflowType));
    if (isServed) continue;
    const entry = found.get(catalog) ?? { catalog, openRuns: 0, workflows: [] };
    entry.openRuns++;
    if (serving.length > 0 && !entry.workflows.includes(workflowType)) entry.workflows.push(workflowType);
    found.set(catalog, entry);
  }
  return [...found.values()];
}
