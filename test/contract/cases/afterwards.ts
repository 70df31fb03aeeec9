import { describe, expect, test } from 'vitest';
import type { RunSummary } from '../../../src/engine.js';
import { brokenRules } from '../invariants.js';
import { Run, type Stage } from '../stage.js';

/** Looks at all the runs that the other cases have left, of every kind there is. */
export function afterwardsCases(stage: Stage): void {
  async function allRuns(): Promise<RunSummary[]> {
    const all: RunSummary[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < 100; page++) {
      const { runs, nextCursor } = await stage.engine.list({}, { limit: 1000, cursor });
      all.push(...runs);
      if (nextCursor === null) break;
      cursor = nextCursor;
    }
    return all;
  }

  describe('afterwards', () => {
    test('every history keeps the rules (I3, I6, I8, I10)', async () => {
      const runs = await allRuns();
      const broken: string[] = [];
      for (const { workflowId, runId, status } of runs) {
        const events = await new Run(stage, workflowId, runId).history();
        for (const rule of brokenRules(events)) broken.push(`${workflowId} (${status}): ${rule}`);
      }
      expect(broken).toEqual([]);
      // The look would prove nothing if there were no runs.
      expect(runs.length).toBeGreaterThan(200);
    });

    test('every closed run can be replayed to its end (WT-01, I5)', async () => {
      // Those of a catalog that nobody serves have never made a turn.
      const closed = (await allRuns()).filter(
        ({ status, catalog }) => status !== 'running' && catalog === stage.system.catalog,
      );
      const unfit: string[] = [];
      for (const { workflowId, runId } of closed) {
        // A query needs the run as it was, so it replays the whole history; that nobody answers it is the sign that it came to the end.
        const error = await stage.engine.query({ workflowId, runId }, 'nobody answers this', []).then(
          () => ({ name: 'answered', message: '' }),
          (thrown: Error) => thrown,
        );
        if (error.name !== 'HandlerNotFoundError')
          unfit.push(`${workflowId}: ${error.name} ${error.message}`);
      }
      expect(unfit).toEqual([]);
    }, 120_000);

    test('an id has at most one open run (I9)', async () => {
      const open = (await allRuns()).filter((run) => run.status === 'running').map((run) => run.workflowId);
      expect(open.filter((id, index) => open.indexOf(id) !== index)).toEqual([]);
    });
  });
}
