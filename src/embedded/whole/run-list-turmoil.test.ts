/**
 * Lists and histories that are read page by page while runs start, end, are reset, continue as new, are paused and are removed:
 * what was there all the time is there once, against a model that is made up of full lists between any two changes.
 */
import { expect, it } from 'vitest';
import type { Command } from '../../core/history/command.js';
import type { RunFilter, RunRef, RunSummary } from '../../engine.js';
import { CATALOG, complete, HandClock, ScriptedWorker, timer } from '../scripted-worker.fixture.js';
import { folder } from '../started-run.fixture.js';

const RETENTION_MS = 400;
const goOn: Command = { kind: 'continueAsNew', workflowType: 'flow', input: [] };

/** Numbers from 0 to below `count` that follow from the seed. */
function numbers(seed: number): (count: number) => number {
  let state = seed;
  return (count) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * count);
  };
}

it.each([1, 2, 3])(
  'entries are neither missing nor doubled (seed %d)',
  async (seed) => {
    const pick = numbers(seed);
    const clock = new HandClock();
    const engine = folder.open({
      clock,
      limits: { listedKeys: 5, retentionMs: RETENTION_MS, retentionBatch: 2 },
    });
    const worker = new ScriptedWorker(engine);
    worker.takeOver((message) => {
      if (message.kind !== 'turn') return false;
      const next = [[complete()], [goOn], [timer(1, 3_600_000)], [timer(1, 3_600_000)], []][pick(5)]!;
      queueMicrotask(() => worker.completeTurn(message, next));
      return true;
    });

    const everything = async (filter: RunFilter = {}) => {
      const found: RunSummary[] = [];
      for (let cursor: string | undefined; ; ) {
        const page = await engine.list(filter, { limit: 1_000, cursor });
        found.push(...page.runs);
        if (page.nextCursor === null) return found;
        cursor = page.nextCursor;
      }
    };
    const act = async (): Promise<void> => {
      const runs = await everything();
      const run = runs[pick(Math.max(1, runs.length))];
      switch (run ? pick(7) : 0) {
        case 0:
        case 1:
          await engine.start({
            workflowType: 'flow',
            catalog: CATALOG,
            input: [],
            workflowId: `id-${pick(12)}`,
          });
          return;
        case 2:
          await engine.terminate(run!, 'enough');
          return;
        case 3:
          await engine.reset(run!, { toStart: true });
          return;
        case 4:
          await engine.pause(run!, { by: 'operator' });
          return;
        case 5:
          await engine.resume(run!);
          return;
        case 6:
          await engine.signal(run!, 'go', []);
          return;
        default:
          clock.ms += pick(RETENTION_MS);
          await new Promise((resolve) => setTimeout(resolve, 30));
      }
    };
    const filters: RunFilter[] = [
      {},
      { status: 'running' },
      { status: 'terminated' },
      { status: 'continued_as_new' },
      { paused: true },
      { workflowId: 'id-3' },
      { workflowIdPrefix: 'id-1' },
      { workflowType: 'flow', catalog: CATALOG },
      { startedAfter: clock.now() + 100 },
      { startedBefore: clock.now() + 300 },
    ];
    const expected = (error: Error & { name: string }) => {
      const names = ['WorkflowAlreadyExistsError', 'WorkflowAlreadyClosedError', 'WorkflowNotFoundError'];
      if (!names.includes(error.name)) throw error;
    };

    let pages = 0;
    for (let round = 0; round < 10; round++) {
      for (let changes = 0; changes < 8; changes++) await act().catch(expected);
      const filter = filters[pick(filters.length)]!;
      const limit = 1 + pick(3);
      const idsOf = (runs: RunSummary[]) => runs.map(({ runId }) => runId);
      let throughout = new Set(idsOf(await everything(filter)));
      const ever = new Set(throughout);
      const seen: string[] = [];
      for (let cursor: string | undefined; ; ) {
        const page = await engine.list(filter, { limit, cursor });
        seen.push(...idsOf(page.runs));
        if (page.nextCursor === null) break;
        cursor = page.nextCursor;
        pages++;
        for (let changes = pick(3); changes > 0; changes--) await act().catch(expected);
        const now = new Set(idsOf(await everything(filter)));
        throughout = new Set([...throughout].filter((id) => now.has(id)));
        for (const id of now) ever.add(id);
      }
      expect(new Set(seen).size, 'an entry came twice').toBe(seen.length);
      expect(seen.filter((id) => throughout.has(id)).sort()).toEqual([...throughout].sort());
      expect(seen.filter((id) => !ever.has(id))).toEqual([]);
      const order = new Map(idsOf(await everything()).map((id, at) => [id, at]));
      const places = seen.flatMap((id) => order.get(id) ?? []);
      expect(places).toEqual([...places].sort((a, b) => a - b));
      await wholeHistory((await everything())[0]);
    }
    // Or nothing was shown.
    expect(pages).toBeGreaterThan(10);

    /** Pages of a history that grows are dense from 1, and end with the run. */
    async function wholeHistory(run: RunRef | undefined): Promise<void> {
      if (!run) return;
      const ids: number[] = [];
      try {
        for (let afterEventId = 0, ended = false; !ended && ids.length < 200; ) {
          const page = await engine.history(run, { afterEventId, limit: 1 + pick(3) });
          expect(page.runId).toBe(run.runId);
          ids.push(...page.events.map(({ id }) => id));
          afterEventId = ids.at(-1) ?? 0;
          ended = page.ended || page.events.length === 0;
          await act().catch(expected);
        }
      } catch (error) {
        expected(error as Error);
      }
      expect(ids).toEqual(ids.map((_id, at) => at + 1));
    }
  },
  60_000,
);
