import { describe, expect, test } from 'vitest';
import { isRunId } from '../../../src/core/values/names.js';
import { payloads, type Stage, unique } from '../stage.js';

export function startCases(stage: Stage): void {
  describe('start and ids', () => {
    test('a start answers with the run whose first event carries the input as it was given (ST-01)', async () => {
      const input = { text: 'naïve \u2028 😀', list: [1, null, { deep: [] }], big: 1e21, small: 5e-324 };
      const run = await stage.start('echo', input);
      expect(isRunId(run.runId)).toBe(true);
      expect(run.runId[14]).toBe('7');
      const [first] = await run.history();
      expect(first).toMatchObject({
        id: 1,
        type: 'WORKFLOW_EXECUTION_STARTED',
        attributes: {
          workflowType: 'echo',
          workflowId: run.workflowId,
          catalog: stage.system.catalog,
          input: payloads(input),
          attempt: 1,
          firstExecutionRunId: run.runId,
          originalExecutionRunId: run.runId,
        },
      });
      expect(await run.result()).toEqual(input);
      expect(await run.eventTypes()).toEqual(['WORKFLOW_EXECUTION_STARTED', 'WORKFLOW_EXECUTION_COMPLETED']);
    });

    test.each([[null], [0], [false], [''], [[]], [{}], ['\u0000']])(
      'input and output %j survive',
      async (value) => {
        const run = await stage.start('echo', value);
        expect((await run.outcome()).output).toBe(JSON.stringify(value));
        expect((await run.outcome()).input).toBe(JSON.stringify(value));
      },
    );

    test('a run without input or result has neither', async () => {
      const run = await stage.start('echo');
      expect(await run.outcome()).toMatchObject({
        workflowId: run.workflowId,
        runId: run.runId,
        status: 'completed',
        input: undefined,
        output: undefined,
        failure: undefined,
        format: 'current',
      });
    });

    test('an id is made up from the name when none is given', async () => {
      const [one, two] = await Promise.all([stage.start('echo'), stage.start('echo')]);
      expect(one.workflowId).toMatch(/^echo-[A-Za-z0-9]{12}$/);
      expect(two.workflowId).not.toBe(one.workflowId);
    });

    test.each([
      ['one character', '~'],
      ['255 characters', 'x'.repeat(200)],
      ['a slash', 'orders/2024/7'],
      ['percent signs', 'a%2Fb%zz'],
      ['dots', '../../etc'],
      ['spaces around', ' padded '],
      ['emoji', '😀😀'],
      ['composed é', '\u00e9'],
      ['decomposed é', 'e\u0301'],
    ])('an id of %s is kept as it is (ST-17)', async (_what, stem) => {
      const workflowId =
        stem === '~' ? String.fromCodePoint(0x4e00 + Math.floor(Math.random() * 20_000)) : unique(stem);
      const padded = stem.length === 200 ? workflowId.padEnd(255, 'y') : workflowId;
      const run = await stage.start('echo', 1, { workflowId: padded });
      expect(run.workflowId).toBe(padded);
      expect((await run.outcome()).workflowId).toBe(padded);
      expect((await stage.engine.list({ workflowId: padded }, { limit: 2 })).runs).toHaveLength(1);
    });

    test('an id of an open run is taken (ST-03)', async () => {
      const run = await stage.start('waitForever');
      await expect(stage.start('echo', 1, { workflowId: run.workflowId })).rejects.toMatchObject({
        name: 'WorkflowAlreadyExistsError',
        details: { workflowId: run.workflowId, runId: run.runId },
      });
      expect(await run.describe()).toMatchObject({ workflowType: 'waitForever', status: 'running' });
      await run.terminate();
    });

    test.each([
      ['completed', 'echo', undefined],
      ['failed', 'throws', undefined],
      ['terminated', 'waitForever', 'terminate'],
      ['cancelled', 'waitForever', 'cancel'],
    ] as const)('an id of a %s run is taken as long as it is retained (ST-08)', async (status, type, end) => {
      const run = await stage.start(type);
      if (end) await run[end]();
      expect((await run.outcome()).status).toBe(status);
      await expect(stage.start('echo', 1, { workflowId: run.workflowId })).rejects.toMatchObject({
        name: 'WorkflowAlreadyExistsError',
      });
    });

    test('of a hundred concurrent starts with one id exactly one makes a run (ST-09)', async () => {
      const workflowId = unique('crowd');
      const starts = await Promise.allSettled(
        Array.from({ length: 100 }, (_, index) => stage.start('echo', index, { workflowId })),
      );
      const started = starts.filter((each) => each.status === 'fulfilled');
      const refused = starts.filter((each) => each.status === 'rejected');
      expect(started).toHaveLength(1);
      expect(new Set(refused.map((each) => each.reason.name))).toEqual(
        new Set(['WorkflowAlreadyExistsError']),
      );
      const { runs } = await stage.engine.list({ workflowId }, { limit: 10 });
      expect(runs.map((run) => run.runId)).toEqual([started[0]!.value.runId]);
    });

    test('an idempotency key answers with the run it made, open or closed (ST-02)', async () => {
      const idempotency = { key: unique('key'), fingerprint: 'body one' };
      const first = await stage.start('waitForever', { n: 1 }, { idempotency });
      const again = await stage.start('waitForever', { n: 1 }, { idempotency });
      expect(again).toMatchObject({ workflowId: first.workflowId, runId: first.runId });
      await first.terminate();
      const late = await stage.start('waitForever', { n: 1 }, { idempotency });
      expect(late).toMatchObject({ workflowId: first.workflowId, runId: first.runId });
      expect(await first.eventsOf('WORKFLOW_EXECUTION_STARTED')).toHaveLength(1);
    });

    test('an idempotency key with a chosen id is the same run, not a conflict', async () => {
      const options = { workflowId: unique('chosen'), idempotency: { key: unique('key'), fingerprint: 'f' } };
      const first = await stage.start('echo', 1, options);
      expect(await stage.start('echo', 1, options)).toMatchObject({ runId: first.runId });
    });

    test('an idempotency key that stands for another body is a conflict', async () => {
      const key = unique('key');
      await stage.start('echo', 1, { idempotency: { key, fingerprint: 'body one' } });
      await expect(
        stage.start('echo', 2, { idempotency: { key, fingerprint: 'body two' } }),
      ).rejects.toMatchObject({
        name: 'IdempotencyConflictError',
        status: 422,
      });
    });

    test('a hundred concurrent starts with one idempotency key make one run', async () => {
      const idempotency = { key: unique('key'), fingerprint: 'same' };
      const runs = await Promise.all(
        Array.from({ length: 100 }, () => stage.start('echo', 7, { idempotency })),
      );
      expect(new Set(runs.map((run) => run.runId)).size).toBe(1);
      expect(new Set(runs.map((run) => run.workflowId)).size).toBe(1);
      expect(await runs[0]!.result()).toBe(7);
    });
  });
}
