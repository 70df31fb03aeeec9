import { describe, expect, test } from 'vitest';
import type { Stage } from '../stage.js';

export function policyCases(stage: Stage): void {
  describe('retry of a whole workflow (ST-23)', () => {
    test('a failed run is followed by another attempt of the same id', async () => {
      const place = stage.place();
      const run = await stage.start('triedAgain', { ...place, failures: 2 });
      const outcome = await run.finalOutcome();
      expect(outcome).toMatchObject({ status: 'completed', output: '{"attempt":3}' });
      expect(JSON.parse(outcome.input!)).toMatchObject({ failures: 2 });
      expect(stage.ledger.entries(place.key).map((entry) => entry.value)).toEqual([1, 2, 3]);
      expect((await run.history()).at(-1)).toMatchObject({
        type: 'WORKFLOW_EXECUTION_FAILED',
        attributes: {
          failure: { message: 'attempt 1 of the run failed' },
          newExecutionRunId: expect.any(String),
        },
      });
      const second = await run.next();
      const [started] = await second.eventsOf('WORKFLOW_EXECUTION_STARTED');
      expect(started!.attributes).toMatchObject({
        attempt: 2,
        initiator: 'RETRY',
        firstExecutionRunId: run.runId,
        continuedExecutionRunId: run.runId,
      });
      expect((await second.next()).runId).toBe(outcome.runId);
      const noted = stage.ledger.entries(place.key).map((entry) => entry.at);
      expect(noted[1]! - noted[0]!).toBeGreaterThanOrEqual(18);
      expect(noted[2]! - noted[1]!).toBeGreaterThanOrEqual(38);
    });

    test('when the attempts are used up, the chain has failed', async () => {
      const place = stage.place();
      const run = await stage.start('triedAgain', { ...place, failures: 9 });
      expect(await run.finalOutcome()).toMatchObject({
        status: 'failed',
        failure: { message: 'attempt 3 of the run failed' },
      });
      expect(stage.ledger.entries(place.key)).toHaveLength(3);
    });

    test('a type that is not retried ends it at once', async () => {
      const place = stage.place();
      const run = await stage.start('triedAgain', { ...place, failures: 9, hopeless: true });
      expect(await run.finalOutcome()).toMatchObject({
        status: 'failed',
        failure: { type: 'HopelessError' },
      });
      expect(stage.ledger.entries(place.key)).toHaveLength(1);
    });

    test('a run that waits for its retry is stopped at once', async () => {
      const run = await stage.start('triedAgainLater');
      const second = await run.next();
      await second.cancel();
      expect(await run.finalOutcome()).toMatchObject({ status: 'cancelled', runId: second.runId });
    });

    test.each([
      ['cancel', 'cancelled'],
      ['terminate', 'terminated'],
    ] as const)('a run that ends by %s is not tried again', async (end, status) => {
      const run = await stage.start('waitsWithRetry');
      await run[end]();
      expect(await run.finalOutcome()).toMatchObject({ status, runId: run.runId });
      expect((await stage.engine.list({ workflowId: run.workflowId }, { limit: 5 })).runs).toHaveLength(1);
    });
  });

  describe('execution timeout (ST-24)', () => {
    test('a run that takes too long is timed out', async () => {
      const run = await stage.start('outOfTime');
      expect(await run.outcome()).toMatchObject({
        status: 'timed_out',
        output: undefined,
        failure: { kind: 'timeout', type: 'TimeoutError' },
      });
      expect(await run.eventTypes()).toEqual(['WORKFLOW_EXECUTION_STARTED', 'WORKFLOW_EXECUTION_TIMED_OUT']);
    });

    test('it spans continue-as-new', async () => {
      const run = await stage.start('outOfTimeInChain', 0);
      const outcome = await run.finalOutcome();
      expect(outcome.status).toBe('timed_out');
      expect(outcome.runId).not.toBe(run.runId);
    });

    test('it spans retries', async () => {
      const run = await stage.start('outOfTimeWhileRetried');
      const outcome = await run.finalOutcome();
      expect(['timed_out', 'failed']).toContain(outcome.status);
      expect(
        (await stage.engine.list({ workflowId: run.workflowId, status: 'running' }, { limit: 5 })).runs,
      ).toEqual([]);
    });

    test('a run that is quick enough is not concerned', async () => {
      expect(await stage.run('inTime')).toBe('in time');
    });
  });
}
