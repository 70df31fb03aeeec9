/** The list of runs, page by page. */
import { describe, expect, it } from 'vitest';
import { folder, start } from '../started-run.fixture.js';

describe('the run list', () => {
  it('looks through a bounded number of runs a page, and its cursors lead to all of them', async () => {
    const engine = folder.open({ limits: { listedKeys: 7 } });
    for (let i = 0; i < 30; i++) await start(engine, i % 10 === 3 ? `rare-${i}` : `common-${i}`);
    const found: string[] = [];
    let pages = 0;
    let cursor: string | undefined;
    do {
      const page = await engine.list({ workflowIdPrefix: 'rare-' }, { limit: 5, cursor });
      found.push(...page.runs.map((run) => run.workflowId));
      cursor = page.nextCursor ?? undefined;
      pages++;
    } while (cursor !== undefined && pages < 20);
    expect(found).toEqual(['rare-23', 'rare-13', 'rare-3']);
    expect(pages).toBe(5);
    expect((await engine.list({ workflowId: 'rare-3' }, { limit: 5 })).runs).toHaveLength(1);
  });
});
