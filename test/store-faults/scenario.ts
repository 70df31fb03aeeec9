/**
 * A script that makes every kind of call once, against workflows that do every kind of thing: whatever fails on the way,
 * its caller is told in the end what it would have been told on a sound disk.
 */
import { deepStrictEqual as same } from 'node:assert/strict';
import type { Engine, RunRef } from '../../src/engine.js';
import { CATALOG } from './replaying-worker.js';

const WAIT_MS = 60_000;
const ORDER = { workflowId: 'order' };

/** `step` hears what is waited for, so that a hang can be told. */
export async function scenario(client: Engine, step: (what: string) => void): Promise<void> {
  const start = (workflowType: string, workflowId: string, input: string[], more = {}): Promise<RunRef> =>
    client.start({ workflowType, catalog: CATALOG, workflowId, input, ...more });

  step('the start');
  const idempotency = { key: 'key', fingerprint: 'body' };
  const first = await start('order', 'order', ['1'], { idempotency });
  step('its repeat');
  same(await start('order', 'order', ['1'], { idempotency }), first);
  step('another body under its key');
  same(await nameOf(start('order', 'order', ['1'], { idempotency: { key: 'key', fingerprint: '?' } })), [
    'IdempotencyConflictError',
  ]);
  step('a run that is ended by force');
  const victim = await start('victim', 'victim', []);
  await client.terminate(victim, 'enough');
  same((await client.outcome(victim, { waitMs: WAIT_MS }))?.status, 'terminated');

  step('the signal');
  await client.signal(ORDER, 'go', ['"now"']);
  step('the run to go on as another');
  const pinned = await client.outcome(first, { waitMs: WAIT_MS, followChain: false });
  same(pinned?.status, 'continued_as_new');
  step('the child');
  same((await client.outcome({ workflowId: 'order-child' }, { waitMs: WAIT_MS }))?.output, '"child"');

  step('the query');
  same(await client.query(ORDER, 'signals', []), '[]');
  step('the update, and a signal that comes during its turn');
  const update = client.update(ORDER, 'add', ['1']);
  await rounds(ROUNDS_TO_WORKER);
  const [updated] = await Promise.all([update, client.signal(ORDER, 'note', [])]);
  same(updated, '"added"');
  same(await client.query(ORDER, 'signals', []), '["note"]');
  step('the update that needs a step');
  same(await client.update(ORDER, 'slow', []), '"at last"');
  step('the last signal');
  await client.signal(ORDER, 'finish', []);
  step('the outcome');
  const done = await client.outcome(ORDER, { waitMs: WAIT_MS });
  same([done?.status, done?.output, done?.input], ['completed', '"done"', '1']);
  step('the trace');
  await client.recordTrace({ workflowId: 'order', runId: done!.runId }, { local: '/a/file' });
  same((await client.outcome(ORDER))?.trace, { local: '/a/file' });
  step('a signal to a closed run');
  same(await nameOf(client.signal(ORDER, 'too late', [])), ['WorkflowAlreadyClosedError']);

  step('the reset');
  const again = await client.reset(first, { stepName: 'a' });
  step('the run that was reset to go on as another');
  same((await client.outcome(again, { waitMs: WAIT_MS, followChain: false }))?.status, 'continued_as_new');
  step('the request to stop');
  await client.cancel(ORDER);
  same((await client.outcome(ORDER, { waitMs: WAIT_MS }))?.status, 'cancelled');

  step('the list');
  const { runs } = await client.list({}, { limit: 100 });
  same(runs.map(({ workflowId, status }) => `${workflowId} ${status}`).sort(), [
    'order cancelled',
    'order completed',
    'order continued_as_new',
    'order continued_as_new',
    'order-child completed',
    'victim terminated',
  ]);
}

/** On an engine that finds the scenario at any point: gives the runs what they wait for, until all of them are closed. */
export async function toTheEnd(engine: Engine): Promise<string[]> {
  const until = Date.now() + WAIT_MS;
  for (;;) {
    const { runs } = await engine.list({ status: 'running' }, { limit: 100 });
    if (runs.length === 0) return [];
    if (Date.now() > until)
      return runs.map(({ workflowId, runId }) => `${workflowId} (${runId}) does not end`);
    for (const { workflowId, runId, workflowType } of runs) {
      const run = { workflowId, runId };
      try {
        if (workflowType === 'victim') await engine.terminate(run, 'enough');
        else if (workflowType === 'order') {
          for (const name of ['go', 'finish']) await engine.signal(run, name, ['"at the end"']);
        }
      } catch (error) {
        if ((error as Error).name !== 'WorkflowAlreadyClosedError') throw error;
      }
      await engine.outcome(run, { waitMs: 1_000, followChain: false });
    }
  }
}

/** Everything is closed: retention leaves nothing of it. */
export async function untilNothingIsLeft(client: Engine, step: (what: string) => void): Promise<void> {
  step('retention');
  const until = Date.now() + WAIT_MS;
  for (;;) {
    const { runs } = await client.list({}, { limit: 100 });
    if (runs.length === 0) return;
    if (Date.now() > until) throw new Error(`retention has left ${runs.map((run) => run.workflowId)}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** So many the call takes to its worker, which takes longer to answer. */
const ROUNDS_TO_WORKER = 10;

async function rounds(count: number): Promise<void> {
  for (let round = 0; round < count; round++) await undefined;
}

async function nameOf(call: Promise<unknown>): Promise<string[]> {
  return call.then(
    () => [],
    (error: Error) => [error.name],
  );
}
