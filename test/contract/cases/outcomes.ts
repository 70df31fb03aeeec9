import { describe, expect, test } from 'vitest';
import { FOREVER_MS, type Stage, unique } from '../stage.js';

/** What goes into a run, what comes out of it, and what can be asked about it. */
export function outcomeCases(stage: Stage): void {
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
      const waiting = stage.engine
        .outcome(run.pinned, { waitMs: FOREVER_MS, abort: caller.signal })
        .catch(() => undefined);
      caller.abort();
      expect(await waiting).toBeUndefined();
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
