import { describe, expect, test } from 'vitest';
import { type Run, type Stage, unique } from '../stage.js';

const ISO = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

/** A run is brought into every state that there is, and asked why it is there. */
export function whyCases(stage: Stage): void {
  const heldStep = async (workflow: string) => {
    const place = { ...stage.place('why'), gate: unique('gate') };
    const run = await stage.start(workflow, place);
    await stage.ledger.until(place.key, 'started');
    return { run, place };
  };

  describe('why', () => {
    test('a run that has completed is closed, and so is one that failed, with its error', async () => {
      const completed = await stage.start('echo', 1);
      await completed.outcome();
      expect(await completed.why()).toMatchObject({
        workflowId: completed.workflowId,
        runId: completed.runId,
        status: 'completed',
        summary: 'It has completed.',
        isStuck: false,
        since: ISO,
        asOf: ISO,
        reasons: [{ code: 'closed', status: 'completed', error: null, action: null }],
      });
      const failed = await stage.start('throws', 'custom');
      const { failure } = await failed.outcome();
      const answer = await failed.why();
      expect(answer).toMatchObject({
        status: 'failed',
        summary: expect.stringContaining(`It has failed: ${failure!.message}`),
        reasons: [{ code: 'closed', status: 'failed', error: { message: failure!.message } }],
      });
      expect(answer.reasons[0]!.action).toContain(`/runs/${failed.runId}/reset`);
    });

    test('one that goes on as another run leads to that', async () => {
      const run = await stage.start('countsDown', { left: 1 });
      const next = await run.next();
      expect((await run.why()).reasons).toMatchObject([
        { code: 'closed', status: 'continued_as_new', newRunId: next.runId },
      ]);
      await run.finalOutcome();
    });

    test('one that was reset leads to the run that took its place, open or closed', async () => {
      const open = await stage.start('threeSteps', { ...stage.place('why'), ending: 'wait' });
      await open.until('ACTIVITY_TASK_COMPLETED', 3);
      const second = await open.reset({ stepName: 'noteBefore', reason: 'wrong turn' });
      const [reason] = (await open.why()).reasons;
      expect(reason).toMatchObject({ code: 'closed', status: 'terminated', newRunId: second.runId });
      expect(reason!.message).toContain('reset after step noteBefore: wrong turn');
      expect(reason!.action).toContain(second.runId);
      await second.until('ACTIVITY_TASK_COMPLETED', 3);
      await second.terminate();
      expect((await second.why()).reasons[0]).not.toHaveProperty('newRunId');

      const failed = await stage.start('threeSteps', { ...stage.place('why'), ending: 'fail' });
      await failed.outcome();
      const again = await failed.reset({ stepName: 'noteAfter' });
      await again.outcome();
      const last = await again.reset({ toStart: true });
      await last.outcome();
      expect((await failed.why()).reasons).toMatchObject([
        { status: 'failed', newRunId: again.runId, message: expect.stringMatching(/\. It was reset\.$/) },
      ]);
      expect((await again.why()).reasons).toMatchObject([{ newRunId: last.runId }]);
      expect((await last.why()).reasons[0]).not.toHaveProperty('newRunId');
    });

    test('a step runs', async () => {
      const { run, place } = await heldStep('pausable');
      const { isStuck, reasons } = await run.untilCodes('stepRunning');
      expect(isStuck).toBe(false);
      expect(reasons).toMatchObject([
        { stepName: 'gated', activityId: '1', attempt: 1, startedAt: ISO, timeoutAt: ISO },
      ]);
      expect((reasons[0] as { worker: string }).worker).toEqual(expect.any(String));
      await run.untilWhy('one with a heartbeat', ({ reasons: [first] }) =>
        first?.code === 'stepRunning' ? first.lastHeartbeatAt !== null : false,
      );
      stage.ledger.release(place.gate);
      await run.result();
    });

    test('a step has failed and is tried again later', async () => {
      const place = stage.place('why');
      const run = await stage.start('triesLater', place);
      const { reasons, isStuck } = await run.untilCodes('stepBackingOff');
      expect(isStuck).toBe(false);
      expect(reasons).toMatchObject([
        {
          stepName: 'failsForLong',
          attempt: 2,
          maximumAttempts: 3,
          nextAttemptAt: ISO,
          lastError: { name: 'Error', message: 'not yet' },
        },
      ]);
      await run.terminate();
    });

    test('a timer runs', async () => {
      const run = await stage.start('sleepsLong');
      await run.until('TIMER_STARTED');
      const { reasons, isStuck } = await run.untilCodes('timer');
      expect(isStuck).toBe(false);
      const left = Date.parse((reasons[0] as { firesAt: string }).firesAt) - Date.now();
      expect(left).toBeGreaterThan(3_500_000);
      expect(left).toBeLessThanOrEqual(3_600_000);
      await run.terminate();
    });

    test('a child has not ended', async () => {
      const run = await stage.start('parent', { how: 'wait' });
      const { attributes } = await run.until('CHILD_WORKFLOW_EXECUTION_STARTED');
      const { reasons } = await run.untilCodes('child');
      const { workflowId, runId } = attributes.workflowExecution;
      expect(reasons).toMatchObject([{ workflowId, runId, workflowType: 'child', status: 'running' }]);
      await run.terminate();
    });

    test('a child further down is stuck: everybody above is, and leads there', async () => {
      const workflowId = unique('stuck');
      const run = await stage.start('grandparent', workflowId);
      const { isStuck, summary, reasons } = await run.untilWhy('stuck', (why) => why.isStuck);
      expect(isStuck).toBe(true);
      const below = await stage.engine.describe({ workflowId });
      expect(reasons).toMatchObject([
        {
          code: 'child',
          workflowType: 'carelessParent',
          stuckAt: {
            workflowId,
            runId: below.runId,
            workflowType: 'child',
            summary: 'It waits for a message.',
          },
        },
      ]);
      expect(reasons[0]!.action).toContain(`/workflow/${workflowId}/why`);
      expect(summary).toContain(`below which "child" (${workflowId}) is stuck: it waits for a message.`);
      const between = (reasons[0] as { workflowId: string }).workflowId;
      expect(await stage.engine.why({ workflowId: between })).toMatchObject({
        isStuck: true,
        summary: `It waits for its child "child" (${workflowId}), which is stuck: it waits for a message.`,
        reasons: [{ code: 'child', workflowId, stuckAt: { workflowId } }],
      });
      await run.terminate();
    });

    test('a child is paused: its parent waits for whoever resumes it', async () => {
      const { run, place } = await heldStep('parentOfPausable');
      const { reasons } = await run.untilCodes('child');
      expect(reasons[0]).not.toHaveProperty('stuckAt');
      const { workflowId, runId } = reasons[0] as { workflowId: string; runId: string };
      expect((await run.why()).isStuck).toBe(false);
      await stage.engine.pause({ workflowId, runId }, { reason: 'for a look', by: 'operator' });
      const paused = await run.untilWhy('stuck', (why) => why.isStuck);
      expect(paused.summary).toContain('which is stuck: it is paused: for a look.');
      await stage.engine.resume({ workflowId, runId });
      await run.untilWhy('unstuck', (why) => !why.isStuck);
      stage.ledger.release(place.gate);
      await run.result();
    });

    test('nobody has sent what it waits for, and there is time for that', async () => {
      const run = await stage.start('approvedInTime');
      await run.until('TIMER_STARTED');
      const { reasons, isStuck, summary } = await run.untilCodes('timer');
      expect(isStuck).toBe(false);
      expect(summary).toMatch(
        /^It waits until .*; meanwhile it takes the signal approve and the update rename\.$/,
      );
      expect(reasons).toMatchObject([{ firesAt: ISO, signals: ['approve'], updates: ['rename'] }]);
      expect(reasons[0]!.action).toContain(`/workflow/${run.workflowId}/signal/approve`);
      await run.signal('approve');
      expect(await run.result()).toBe(true);
    });

    test('nobody has sent what it waits for', async () => {
      const run = await stage.start('collects');
      const { reasons, isStuck } = await run.untilCodes('message');
      expect(isStuck).toBe(true);
      expect(reasons).toMatchObject([{ signals: ['add', 'finish'], updates: [] }]);
      expect(reasons[0]!.action).toContain(`/workflow/${run.workflowId}/signal/add`);
      await run.signal('finish');
      await run.result();
    });

    test('it is paused, whatever else it waits for', async () => {
      const { run, place } = await heldStep('pausable');
      await run.pause('for a look');
      const { summary, isStuck, reasons } = await run.untilCodes('paused', 'stepRunning');
      expect(isStuck).toBe(true);
      expect(summary).toContain('It is paused: for a look');
      expect(reasons[0]).toMatchObject({ reason: 'for a look', since: ISO, by: 'operator' });
      expect(reasons[0]!.action).toContain(`/runs/${run.runId}/resume`);
      await run.resume();
      stage.ledger.release(place.gate);
      await run.result();
    });

    test('no worker serves its catalog', async () => {
      const catalog = unique('nobody');
      const ref = await stage.engine.start({ workflowType: 'echo', catalog, input: [] });
      const answer = await stage.engine.why(ref);
      expect(answer).toMatchObject({
        isStuck: true,
        reasons: [
          { code: 'noWorker', catalog, workflowType: 'echo' },
          { code: 'turnQueued', since: ISO },
        ],
      });
      expect(answer.reasons[0]!.action).toContain(`--catalog ${catalog}`);
      await stage.engine.terminate(ref, 'seen');
    });

    test('of a run that nobody knows is not found', async () => {
      await expect(stage.engine.why({ workflowId: unique('nobody') })).rejects.toMatchObject({
        name: 'WorkflowNotFoundError',
      });
    });
  });
}

/** While no worker is there. */
export function whyWorkersAwayCases(stage: Stage): void {
  test('a run whose turn and a run whose step wait for a worker say so', async () => {
    await stage.system.startWorkers();
    const place = { ...stage.place('why'), gate: unique('gate') };
    const stepping = await stage.start('pausable', place);
    await stage.ledger.until(place.key, 'started');
    await stage.system.stopWorkers();
    const turning = await stage.start('echo', 1);
    const codes = async (run: Run) => (await run.why()).reasons.map(({ code }) => code);
    expect(await codes(turning)).toContain('turnQueued');
    // Where the end of a worker is seen by its silence alone, the step runs for as long.
    expect(await codes(stepping)).toEqual(expect.arrayContaining([expect.stringMatching(/^step/)]));
    await stage.system.startWorkers();
    stage.ledger.release(place.gate);
    await Promise.all([turning.result(), stepping.result()]);
  });
}
