import { describe, expect, test } from 'vitest';
import { isRunId } from '../../../src/core/names.js';
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
      expect(await run.outcome()).toEqual({
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
        stem === '~' ? String.fromCodePoint(0x3041 + Math.floor(Math.random() * 9e4)) : unique(stem);
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

  describe('inputs and outputs', () => {
    test('schemas parse: defaults and transforms apply to input and output', async () => {
      expect(await stage.run('schemaed', { name: '  ho ' })).toEqual({ text: 'HO HO' });
    });

    test('an input that does not fit fails the run with what is wrong', async () => {
      const { status, failure } = await (await stage.start('schemaed', { name: 5 })).outcome();
      expect(status).toBe('failed');
      expect(failure).toMatchObject({ type: 'ValidationError', nonRetryable: true });
      expect(failure!.message).toContain('name');
    });

    test('an output that does not fit fails the run with what is wrong', async () => {
      const { status, failure } = await (await stage.start('misfitOutput')).outcome();
      expect(status).toBe('failed');
      expect(failure).toMatchObject({ type: 'ValidationError' });
      expect(failure!.message).toContain('text');
    });

    test.each([
      ['bigint', '.a[1].b', 'BigInt'],
      ['nan', '.ratio', 'NaN'],
      ['circular', '.again.circle', 'circular'],
      ['hole', '.list[1]', 'undefined in an array'],
      ['map', '.seen', 'Map'],
    ])('a result with a %s fails the run and names the path (AC-28)', async (kind, path, what) => {
      const { status, failure } = await (await stage.start('returnsValue', kind)).outcome();
      expect(status).toBe('failed');
      expect(failure).toMatchObject({ type: 'PayloadError', nonRetryable: true });
      expect(failure!.message).toContain(path);
      expect(failure!.message).toContain(what);
    });

    test('a date becomes its text, as everywhere in JSON', async () => {
      expect(await stage.run('returnsValue', 'date')).toEqual({ at: '1970-01-01T00:00:00.000Z' });
    });
  });

  describe('errors out of a workflow', () => {
    test('an error fails the run with its class, properties and causes (WT-04)', async () => {
      const run = await stage.start('throws', 'custom');
      const { status, failure, output } = await run.outcome();
      expect({ status, output }).toEqual({ status: 'failed', output: undefined });
      expect(failure).toMatchObject({
        kind: 'application',
        type: 'PaymentError',
        message: 'not enough',
        properties: { code: 'E_PAYMENT', retryable: false },
        cause: { type: 'RangeError', message: 'limit is 5', cause: { message: 'bank' } },
      });
      expect(failure!.activityType).toBeUndefined();
      expect(await run.eventTypes()).toEqual(['WORKFLOW_EXECUTION_STARTED', 'WORKFLOW_EXECUTION_FAILED']);
    });

    test.each([
      ['plain', 'Error', 'plain'],
      ['string', 'Error', 'a plain text'],
    ])('a thrown %s is an %s', async (kind, type, message) => {
      const { failure } = await (await stage.start('throws', kind)).outcome();
      expect(failure).toMatchObject({ kind: 'application', type, message });
    });

    test('a built-in error keeps its class', async () => {
      expect((await (await stage.start('throws', 'sync')).outcome()).failure).toMatchObject({
        type: 'SyntaxError',
      });
    });

    test('an error before any promise fails the run as well', async () => {
      const { status, failure } = await (await stage.start('throwsAtOnce')).outcome();
      expect({ status, type: failure!.type }).toEqual({ status: 'failed', type: 'TypeError' });
    });

    test('causes are kept ten deep', async () => {
      let failure = (await (await stage.start('throws', 'deep')).outcome()).failure;
      const messages: string[] = [];
      for (; failure; failure = failure.cause) messages.push(failure.message);
      expect(messages).toEqual(Array.from({ length: 10 }, (_, depth) => `cause ${20 - depth}`));
    });
  });

  describe('status and outcome', () => {
    test('a run describes itself while open and when closed', async () => {
      const before = Date.now();
      const run = await stage.start('waitForever', { a: 1 });
      const open = await run.describe();
      expect(open).toMatchObject({
        workflowId: run.workflowId,
        runId: run.runId,
        workflowType: 'waitForever',
        catalog: stage.system.catalog,
        status: 'running',
        completedAt: null,
        input: '{"a":1}',
        firstRunId: run.runId,
      });
      expect(open.startedAt).toBeGreaterThanOrEqual(before - 1000);
      expect(open.heldBack).toBeUndefined();
      await run.terminate();
      const closed = await run.describe();
      expect(closed).toMatchObject({ status: 'terminated', startedAt: open.startedAt });
      expect(closed.completedAt).toBeGreaterThanOrEqual(open.startedAt);
      expect(closed.historyLength).toBe((await run.history()).length);
    });

    test('what does not exist is not found', async () => {
      const { engine } = stage;
      const run = await stage.start('echo', 1);
      const nobody = { workflowId: unique('nobody') };
      const otherRun = { workflowId: run.workflowId, runId: '01890000-0000-7000-8000-000000000000' };
      for (const selector of [nobody, otherRun]) {
        const notFound = { name: 'WorkflowNotFoundError', status: 404 };
        await expect(engine.describe(selector)).rejects.toMatchObject(notFound);
        await expect(engine.outcome(selector)).rejects.toMatchObject(notFound);
        await expect(engine.history(selector, { afterEventId: 0, limit: 1 })).rejects.toMatchObject(notFound);
        await expect(engine.signal(selector, 'any', [])).rejects.toMatchObject(notFound);
        await expect(engine.query(selector, 'any', [])).rejects.toMatchObject(notFound);
        await expect(engine.update(selector, 'any', [])).rejects.toMatchObject(notFound);
        await expect(engine.cancel(selector)).rejects.toMatchObject(notFound);
        await expect(engine.terminate(selector, 'x')).rejects.toMatchObject(notFound);
        await expect(engine.reset(selector, { stepName: 'x' })).rejects.toMatchObject(notFound);
      }
    });

    test('an outcome is undefined while the run is open, at once or after the wait (HI-08)', async () => {
      const run = await stage.start('waitForever');
      expect(await stage.engine.outcome(run.pinned)).toBeUndefined();
      const before = Date.now();
      expect(await stage.engine.outcome(run.pinned, { waitMs: 150 })).toBeUndefined();
      expect(Date.now() - before).toBeGreaterThanOrEqual(145);
      await run.terminate();
    });

    test('a wait for the outcome ends when its caller goes away', async () => {
      const run = await stage.start('waitForever');
      const caller = new AbortController();
      const waiting = stage.engine.outcome(run.pinned, { waitMs: 60_000, abort: caller.signal });
      caller.abort();
      expect(
        await Promise.race([waiting.catch(() => 'rejected'), run.until('WORKFLOW_EXECUTION_STARTED')]),
      ).not.toBe('still waiting');
      await waiting.catch(() => undefined);
      await run.terminate();
    });

    test('many who wait for one outcome are released together, with the same answer (HI-09)', async () => {
      const run = await stage.start('waitForever');
      const waiting = Array.from({ length: 200 }, () => run.outcome());
      await run.terminate('that is all');
      const outcomes = await Promise.all(waiting);
      expect(new Set(outcomes.map((outcome) => JSON.stringify(outcome))).size).toBe(1);
      expect(outcomes[0]).toEqual(await run.outcome());
      expect(outcomes[0]).toMatchObject({
        status: 'terminated',
        failure: { kind: 'terminated', type: 'TerminatedError', message: 'that is all' },
      });
    });

    test('a workflow knows who it is', async () => {
      const run = await stage.start('aboutMe');
      const info = (await run.result()) as { fromContext: unknown; fromFunction: unknown };
      const { startedAt } = await run.describe();
      expect(info.fromContext).toMatchObject({
        workflowId: run.workflowId,
        runId: run.runId,
        workflowType: 'aboutMe',
        catalog: stage.system.catalog,
        attempt: 1,
      });
      expect(info.fromFunction).toEqual(info.fromContext);
      const shown = (info.fromContext as { startedAt: string | number }).startedAt;
      expect(new Date(shown).getTime()).toBe(startedAt);
      expect((info.fromContext as { parent?: unknown }).parent).toBeUndefined();
    });
  });
}
