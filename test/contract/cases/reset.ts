import { describe, expect, test } from 'vitest';
import type { Stage } from '../stage.js';

export function resetCases(stage: Stage): void {
  const ran = (key: string) => stage.ledger.entries(key, 'ran').map((entry) => entry.value);

  describe('reset', () => {
    test('a completed run starts over after the step: later steps run again, earlier ones do not (RS-01, RS-03)', async () => {
      const place = stage.place();
      const run = await stage.start('threeSteps', { ...place, ending: 'return' });
      const first = (await run.result()) as Record<string, unknown>;
      const old = JSON.stringify(await run.history());
      const again = await run.reset({ stepName: 'note', reason: 'try the rest again' });
      expect(again.workflowId).toBe(run.workflowId);
      expect(again.runId).not.toBe(run.runId);
      const second = (await again.result()) as Record<string, unknown>;
      expect(second).toMatchObject({ before: 'before', middle: 'middle', after: 'after' });
      expect(ran(place.key)).toEqual(['before', 'middle', 'after', 'after']);
      expect(second.random).toEqual(first.random);
      expect(JSON.stringify(await run.history())).toBe(old);
      expect(await run.describe()).toMatchObject({ status: 'completed' });
      expect(await again.describe()).toMatchObject({ status: 'completed', firstRunId: run.runId });
    });

    test('random numbers and ids are drawn anew after the point (WT-06)', async () => {
      const run = await stage.start('threeSteps', { ...stage.place(), ending: 'return' });
      const first = (await run.result()) as { late: { random: number; id: string } };
      const again = await run.reset({ stepName: 'note' });
      const second = (await again.result()) as { late: { random: number; id: string } };
      expect(second.late.random).not.toBe(first.late.random);
      expect(second.late.id).not.toBe(first.late.id);
    });

    test('an open run is terminated, and exactly one run is open (RS-02)', async () => {
      const place = stage.place();
      const run = await stage.start('threeSteps', { ...place, ending: 'wait' });
      await run.until('ACTIVITY_TASK_COMPLETED', 3);
      const again = await run.reset({ stepName: 'noteBefore', reason: 'wrong turn' });
      expect((await run.outcome()).status).toBe('terminated');
      const last = (await run.history()).at(-1)!;
      expect(last).toMatchObject({
        type: 'WORKFLOW_EXECUTION_TERMINATED',
        attributes: { reason: expect.stringContaining('wrong turn'), newExecutionRunId: again.runId },
      });
      const open = await stage.engine.list({ workflowId: run.workflowId, status: 'running' }, { limit: 10 });
      expect(open.runs.map((each) => each.runId)).toEqual([again.runId]);
      await again.signal('finish');
      expect(await again.result()).toMatchObject({ after: 'after' });
      expect(ran(place.key)).toEqual(['before', 'middle', 'after', 'middle', 'after']);
    });

    test('a run whose time was over has its whole time again', async () => {
      const place = stage.place();
      const run = await stage.start('waitsInItsTime', place);
      expect((await run.outcome()).status).toBe('timed_out');
      const again = await run.reset({ stepName: 'note' });
      await again.signal('finish');
      expect(await again.result()).toBe('in time');
      expect(ran(place.key)).toEqual(['before']);
    });

    test('to the start runs everything again with the same input, open or closed', async () => {
      const place = stage.place();
      const run = await stage.start('threeSteps', { ...place, ending: 'wait' });
      await run.signal('add', 'kept');
      await run.until('ACTIVITY_TASK_COMPLETED', 3);
      const again = await run.reset({ toStart: true, reason: 'from the beginning' });
      expect((await run.history()).at(-1)).toMatchObject({
        type: 'WORKFLOW_EXECUTION_TERMINATED',
        attributes: { reason: 'reset to the start: from the beginning', newExecutionRunId: again.runId },
      });
      await again.until('ACTIVITY_TASK_COMPLETED', 3);
      await again.signal('finish');
      expect(await again.result()).toMatchObject({ after: 'after', signals: ['kept'] });
      expect(ran(place.key)).toEqual(['before', 'middle', 'after', 'before', 'middle', 'after']);
      const { input, firstRunId } = await again.describe();
      expect({ input, firstRunId }).toEqual({ input: (await run.describe()).input, firstRunId: run.runId });

      const third = await again.reset({ toStart: true });
      // It is told again of what came, the word to finish among it.
      expect(await third.result()).toMatchObject({ after: 'after', signals: ['kept'] });
      expect(ran(place.key)).toHaveLength(9);
    });

    test('a failed run can be started over (RS-03)', async () => {
      const place = stage.place();
      const run = await stage.start('threeSteps', { ...place, ending: 'fail' });
      expect((await run.outcome()).status).toBe('failed');
      const again = await run.reset({ stepName: 'noteAfter' });
      expect((await again.outcome()).status).toBe('failed');
      expect(
        stage.ledger.entries(place.key, 'ran').filter((entry) => entry.step === 'flakyOnce'),
      ).toHaveLength(2);
      expect(
        stage.ledger.entries(place.key, 'ran').filter((entry) => entry.step === 'noteAfter'),
      ).toHaveLength(1);
    });

    test.each(['terminate', 'cancel'] as const)('a run after %s can be started over (RS-03)', async (end) => {
      const place = stage.place();
      const run = await stage.start('threeSteps', { ...place, ending: 'wait' });
      await run.until('ACTIVITY_TASK_COMPLETED', 3);
      await run[end]();
      await run.outcome();
      const again = await run.reset({ stepName: 'noteAfter' });
      await again.signal('finish');
      expect(await again.result()).toMatchObject({ before: 'before', after: 'after' });
      expect(ran(place.key)).toEqual(['before', 'middle', 'after']);
    });

    test('signals after the point are delivered to the new run again', async () => {
      const run = await stage.start('threeSteps', { ...stage.place(), ending: 'wait' });
      await run.until('ACTIVITY_TASK_COMPLETED', 3);
      for (const value of [1, 2, 3]) await run.signal('add', value);
      expect(await run.query('signals')).toEqual([1, 2, 3]);
      const again = await run.reset({ stepName: 'note' });
      await again.until('ACTIVITY_TASK_COMPLETED', 3);
      expect(await again.query('signals')).toEqual([1, 2, 3]);
      await again.signal('add', 4);
      await again.signal('finish');
      expect(await again.result()).toMatchObject({ signals: [1, 2, 3, 4] });
    });

    test('signals that came to an earlier reset of the run are delivered to the new one again', async () => {
      const run = await stage.start('threeSteps', { ...stage.place(), ending: 'wait' });
      await run.until('ACTIVITY_TASK_COMPLETED', 3);
      await run.signal('add', 1);
      const one = await run.reset({ stepName: 'note' });
      await one.until('ACTIVITY_TASK_COMPLETED', 3);
      await one.signal('add', 2);
      const two = await run.reset({ stepName: 'note' });
      await two.until('ACTIVITY_TASK_COMPLETED', 3);
      await two.signal('finish');
      expect(await two.result()).toMatchObject({ signals: [1, 2] });
    });

    test('the last completed execution is the point unless another is named', async () => {
      const place = stage.place();
      const run = await stage.start('repeats', { ...place, times: 4 });
      await run.result();
      const last = await run.reset({ stepName: 'note' });
      expect(await last.result()).toEqual([1, 2, 3, 4]);
      expect(ran(place.key)).toEqual([1, 2, 'between', 3, 4]);
      const second = await run.reset({ stepName: 'note', occurrence: 2 });
      expect(await second.result()).toEqual([1, 2, 3, 4]);
      expect(ran(place.key)).toEqual([1, 2, 'between', 3, 4, 'between', 3, 4]);
    });

    test('resets can be repeated, and a reset can be reset (RS-04, RS-07)', async () => {
      const place = stage.place();
      const run = await stage.start('repeats', { ...place, times: 2 });
      await run.result();
      const one = await run.reset({ stepName: 'note', occurrence: 1 });
      await one.result();
      const two = await one.reset({ stepName: 'note', occurrence: 1 });
      await two.result();
      const three = await run.reset({ stepName: 'note', occurrence: 2 });
      expect(await three.result()).toEqual([1, 2]);
      expect(new Set([run, one, two, three].map((each) => each.runId)).size).toBe(4);
      expect((await three.describe()).firstRunId).toBe(run.runId);
      expect((await stage.engine.describe(run.latest)).runId).toBe(three.runId);
      for (const each of [run, one, two]) expect((await each.describe()).status).toBe('completed');
    });

    test('what was pending beside the point is pending in the new run (RS-09)', async () => {
      const place = stage.place();
      const run = await stage.start('pendingBeside', place);
      await run.until('ACTIVITY_TASK_COMPLETED');
      await stage.ledger.until(place.key, 'started');
      const again = await run.reset({ stepName: 'note' });
      await stage.ledger.until(place.key, 'aborted');
      await stage.ledger.until(place.key, 'started', 2);
      stage.ledger.release(place.key);
      expect(await again.result()).toEqual({ value: 'noted', held: `released ${place.key}`, slept: 'slept' });
      expect(ran(place.key)).toEqual(['noted']);
    });

    test('the new run has the old events up to the point', async () => {
      const run = await stage.start('repeats', { ...stage.place(), times: 3 });
      await run.result();
      const again = await run.reset({ stepName: 'note', occurrence: 1 });
      await again.result();
      const oldEvents = await run.history();
      const newEvents = await again.history();
      const completed = oldEvents.findIndex((event) => event.type === 'ACTIVITY_TASK_COMPLETED');
      expect(newEvents.slice(1, completed + 1)).toEqual(oldEvents.slice(1, completed + 1));
      expect(newEvents.map((event) => event.id)).toEqual(newEvents.map((_, index) => index + 1));
      expect(newEvents[0]!.attributes).toMatchObject({ workflowType: 'repeats', input: expect.any(Array) });
    });

    test('a run of a chain can be started over, and the chain goes on from there (RS-11)', async () => {
      const place = stage.place();
      const run = await stage.start('triedAgain', { ...place, failures: 1 });
      const last = await run.finalOutcome();
      const again = await (await stage.attach(run.workflowId)).reset({ stepName: 'note' });
      expect(await again.finalOutcome()).toMatchObject({
        runId: again.runId,
        output: last.output,
        input: last.input,
      });
      expect((await again.describe()).firstRunId).toBe(run.runId);
      expect(stage.ledger.entries(place.key).map((entry) => entry.value)).toEqual([1, 2]);
    });

    test('children from before the point are kept, those from after it are started anew (RS-12)', async () => {
      const place = stage.place();
      const run = await stage.start('familyReset', place);
      await run.until('CHILD_WORKFLOW_EXECUTION_STARTED', 2);
      const again = await run.reset({ stepName: 'note' });
      await again.until('CHILD_WORKFLOW_EXECUTION_STARTED', 2);
      const [kept, anew] = await again.eventsOf('CHILD_WORKFLOW_EXECUTION_STARTED');
      const [before] = await run.eventsOf('CHILD_WORKFLOW_EXECUTION_STARTED');
      expect(kept!.attributes.workflowExecution).toEqual(before!.attributes.workflowExecution);
      for (const { attributes } of [kept!, anew!]) {
        await (await stage.attach(attributes.workflowExecution.workflowId)).signal('finish');
      }
      expect(await again.result()).toEqual(['back again', 'back again']);
      expect(await again.eventsOf('CHILD_WORKFLOW_EXECUTION_COMPLETED')).toHaveLength(2);
    });

    test('a step that is not in the history is not found', async () => {
      const run = await stage.start('repeats', { ...stage.place(), times: 2 });
      await run.result();
      await expect(run.reset({ stepName: 'nowhere' })).rejects.toMatchObject({
        name: 'StepNotFoundError',
        status: 404,
      });
      await expect(run.reset({ stepName: 'note', occurrence: 3 })).rejects.toMatchObject({
        name: 'StepNotFoundError',
      });
      expect((await stage.engine.list({ workflowId: run.workflowId }, { limit: 5 })).runs).toHaveLength(1);
    });

    test('a step that has not completed is no point to go back to', async () => {
      const place = stage.place();
      const run = await stage.start('neverCompletes', place);
      await stage.ledger.until(place.key, 'started');
      await expect(run.reset({ stepName: 'gated' })).rejects.toMatchObject({
        name: 'StepNotCompletedError',
        status: 409,
      });
      expect((await run.describe()).status).toBe('running');
      await run.terminate();
    });
  });
}
