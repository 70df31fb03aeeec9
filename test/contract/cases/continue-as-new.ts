import { describe, expect, test, vi } from 'vitest';
import { FOREVER_MS, payloads, Run, type Stage } from '../stage.js';

export function continueAsNewCases(stage: Stage): void {
  describe('continue as new', () => {
    test('a chain of runs: linked both ways, the outcome is that of the last (CN-01, CN-06)', async () => {
      const run = await stage.start('countsDown', { left: 2, ids: [] });
      const outcome = await run.finalOutcome();
      expect(outcome).toMatchObject({ status: 'completed', input: JSON.stringify({ left: 2, ids: [] }) });
      expect(JSON.parse(outcome.output!)).toMatchObject({ runs: 3, distinct: 3, runId: outcome.runId });
      const second = await run.next();
      const third = await second.next();
      expect(third.runId).toBe(outcome.runId);
      expect(await run.eventTypes()).toEqual([
        'WORKFLOW_EXECUTION_STARTED',
        'WORKFLOW_EXECUTION_CONTINUED_AS_NEW',
      ]);
      const [closing] = await run.eventsOf('WORKFLOW_EXECUTION_CONTINUED_AS_NEW');
      expect(closing!.attributes).toMatchObject({
        newExecutionRunId: second.runId,
        workflowType: 'countsDown',
      });
      const [started] = await second.eventsOf('WORKFLOW_EXECUTION_STARTED');
      expect(started!.attributes).toMatchObject({
        continuedExecutionRunId: run.runId,
        firstExecutionRunId: run.runId,
        initiator: 'CONTINUE_AS_NEW',
        input: closing!.attributes.input,
      });
      expect((await third.describe()).firstRunId).toBe(run.runId);
    });

    test('a pinned run that continued has that status and no output', async () => {
      const run = await stage.start('countsDown', { left: 1 });
      await run.finalOutcome();
      expect(await stage.engine.outcome(run.pinned)).toMatchObject({
        runId: run.runId,
        status: 'continued_as_new',
        output: undefined,
      });
      expect((await run.describe()).input).toBe('{"left":1}');
      expect((await (await run.next()).describe()).input).toBe('{"left":0}');
    });

    test('a wait for the outcome that began before the chain grew follows it (CN-06)', async () => {
      const run = await stage.start('sums', { target: 4 });
      const waiting = run.finalOutcome();
      for (let value = 1; value <= 4; value++) await run.signal('add', value);
      const outcome = await waiting;
      expect(JSON.parse(outcome.output!)).toEqual({ sum: 10, count: 4, runs: expect.any(Number) });
      expect(outcome.input).toBe('{"target":4}');
    });

    test('a failure at the end of a chain is the outcome of the chain', async () => {
      const run = await stage.start('continuesThenFails', 3);
      expect(await run.finalOutcome()).toMatchObject({
        status: 'failed',
        failure: { message: 'at the end of the chain' },
        input: '3',
      });
    });

    test('signals are not lost between runs (CN-04, SG-11)', async () => {
      const run = await stage.start('sums', { target: 40 });
      let expected = 0;
      for (let value = 1; value <= 40; value++) {
        await run.signal('add', value);
        expected += value;
        // An answer means that a turn has been made, so that the runs really follow each other meanwhile.
        if (value % 8 === 0) expect(await run.query('sum')).toBe(expected);
      }
      const result = (await run.result()) as { sum: number; count: number; runs: number };
      expect(result).toMatchObject({ sum: expected, count: 40 });
      expect(result.runs).toBeGreaterThan(1);
    });

    test('signals from many senders at once are not lost either', async () => {
      const run = await stage.start('sums', { target: 60 });
      await Promise.all(Array.from({ length: 60 }, () => run.signal('add', 1)));
      expect(await run.result()).toMatchObject({ sum: 60, count: 60 });
    });

    test('an update that comes between two runs is answered by one of them (UP-12)', async () => {
      const run = await stage.start('sums', { target: 10 });
      const answers: Promise<unknown>[] = [];
      for (let value = 1; value <= 9; value++) {
        await run.signal('add', 1);
        answers.push(run.update('total'));
      }
      const totals = (await Promise.all(answers)) as number[];
      totals.forEach((total, index) => {
        expect(total).toBeGreaterThanOrEqual(index + 1);
        expect(total).toBeLessThanOrEqual(9);
      });
      await run.signal('add', 1);
      expect(await run.result()).toMatchObject({ sum: 10, count: 10 });
    });

    test('the outcome of a pinned run can follow its chain', async () => {
      const run = await stage.start('countsDown', { left: 3 });
      const last = await run.finalOutcome();
      expect(await stage.engine.outcome(run.pinned, { followChain: true })).toEqual(last);
      expect(await stage.engine.outcome(run.latest, { followChain: false })).toMatchObject({
        runId: last.runId,
        status: 'completed',
      });
    });

    test('a long chain ends, and every link is one run (CN-10)', async () => {
      const run = await stage.start('countsDown', { left: 200 });
      // On a cluster each of the two hundred takes its time, above all between all the other cases.
      const outcome = await stage.engine.outcome(run.latest, { waitMs: FOREVER_MS });
      expect(JSON.parse(outcome!.output!)).toMatchObject({ runs: 1 });
      // A cluster's list follows what happened a moment later.
      await vi.waitFor(async () => {
        const { runs } = await stage.engine.list({ workflowId: run.workflowId }, { limit: 1000 });
        expect(runs).toHaveLength(201);
        expect(runs.filter((each) => each.status === 'continued_as_new')).toHaveLength(200);
      }, 60_000);
    }, 300_000);

    test('the latest run is what is described, signalled and stopped (HI-11, TE-06)', async () => {
      const run = await stage.start('continuesAndWaits', 'first');
      const second = await run.next();
      expect(await stage.engine.describe(run.latest)).toMatchObject({
        runId: second.runId,
        status: 'running',
      });
      await expect(stage.engine.terminate(run.pinned, 'the old one')).rejects.toMatchObject({
        name: 'WorkflowAlreadyClosedError',
      });
      await expect(stage.engine.signal(run.pinned, 'add', payloads(1))).rejects.toMatchObject({
        name: 'WorkflowAlreadyClosedError',
      });
      expect(await stage.engine.terminate(run.latest, 'the current one')).toMatchObject({
        runId: second.runId,
      });
      expect((await new Run(stage, second.workflowId, second.runId).outcome()).status).toBe('terminated');
    });
  });
}
