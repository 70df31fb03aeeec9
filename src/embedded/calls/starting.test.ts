/** What a second start is told while the first one is on its way to disk. */
import { expect, it } from 'vitest';
import type { StartRequest } from '../../engine.js';
import { CATALOG } from '../scripted-worker.fixture.js';
import { folder } from '../started-run.fixture.js';

const request = (more: Partial<StartRequest>): StartRequest => ({
  ...{ workflowType: 'flow', catalog: CATALOG, input: [], workflowId: 'a' },
  ...more,
});

it.each([
  ['WorkflowAlreadyExistsError', request({}), request({})],
  ['WorkflowAlreadyExistsError', request({ isAwaited: true }), request({})],
  [
    'IdempotencyConflictError',
    request({ idempotency: { key: 'k', fingerprint: 'one' } }),
    request({ idempotency: { key: 'k', fingerprint: 'another' }, workflowId: 'b' }),
  ],
])('refuses the second with %s when the first is on disk', async (name, first, second) => {
  const engine = folder.open();
  const started = engine.start(first);
  await expect(engine.start(second)).rejects.toMatchObject({ name });
  const killed = folder.asKilled();
  expect(await killed.open().describe({ workflowId: 'a' })).toMatchObject({ status: 'running' });
  await killed.remove();
  await started;
});
