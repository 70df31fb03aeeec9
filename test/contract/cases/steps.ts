import { describe, expect, test } from 'vitest';
import type { Stage } from '../stage.js';
import { causes, type Described, innermost } from '../workflows/shared/described.js';

export function stepCases(stage: Stage): void {
  describe('step results', () => {
    test('a step knows who it is, and its idempotency key is its own', async () => {
      const run = await stage.start('callValues');
      const result = (await run.result()) as Record<string, Record<string, unknown>>;
      expect(result.first).toMatchObject({
        attempt: 1,
        workflowId: run.workflowId,
        runId: run.runId,
        stepName: 'whoAmI',
        lastHeartbeat: null,
      });
      expect(result.first!.idempotencyKey).not.toBe(result.second!.idempotencyKey);
    });

    test('schemas of a step parse its input and its output', async () => {
      const result = (await stage.run('callValues')) as Record<string, unknown>;
      expect(result.parsed).toEqual({ total: 42, unit: 'PIECES' });
    });

    test('what does not fit a step is a ValidationError, never retried', async () => {
      const run = await stage.start('callValues');
      const result = (await run.result()) as Record<string, { error: Described }>;
      expect(JSON.stringify(result.invalidInput)).toContain('ValidationError');
      expect(JSON.stringify(result.invalidOutput)).toContain('ValidationError');
      const failed = await run.eventsOf('ACTIVITY_TASK_FAILED');
      for (const event of failed) expect(event.attributes.retryState).toBe('NON_RETRYABLE_FAILURE');
    });

    test.each([
      ['undefined', undefined],
      ['null', null],
      ['date', { at: '1970-01-01T00:00:00.000Z' }],
      ['property', { kept: 1 }],
      ['falsy', [0, false, '']],
      ['unicode', 'naïve \u2028 \ud83d\ude00 "quoted" \\ \u0000'],
    ])('a result of %s comes back as JSON has it (AC-28)', async (kind, expected) => {
      expect(await stage.run('callStrange', kind)).toEqual({ value: expected });
    });

    test.each([
      ['bigint', '.a[1].b', 'BigInt'],
      ['nan', '.ratio', 'NaN'],
      ['infinity', '[1]', 'Infinity'],
      ['circular', '.again.circle', 'circular'],
      ['hole', '.list[1]', 'undefined in an array'],
      ['map', '.seen', 'Map'],
      ['function', '.callback', 'function'],
      ['invalidDate', '.at', 'invalid date'],
    ])('a result with %s fails the step at once and names the path (AC-28)', async (kind, path, what) => {
      const run = await stage.start('callStrange', kind);
      const { error } = (await run.result()) as { error: Described };
      expect(innermost(error)).toMatchObject({ name: 'PayloadError' });
      expect(innermost(error).message).toContain(path);
      expect(innermost(error).message).toContain(what);
      const [failed] = await run.eventsOf('ACTIVITY_TASK_FAILED');
      expect(failed!.attributes.retryState).toBe('NON_RETRYABLE_FAILURE');
    });

    test('an argument that JSON cannot carry is refused where the step is called', async () => {
      const run = await stage.start('sendStrange');
      const { error } = (await run.result()) as { error: Described };
      expect(innermost(error).name).toBe('PayloadError');
      expect(innermost(error).message).toContain('.value.big[0]');
      expect(await run.eventTypes()).toEqual(['WORKFLOW_EXECUTION_STARTED', 'WORKFLOW_EXECUTION_COMPLETED']);
    });

    test('a step leaves scheduled, started and completed, and runs once', async () => {
      const place = stage.place();
      const run = await stage.start('serialSteps', { ...place, count: 3 });
      expect(await run.result()).toBe(6);
      expect(await run.eventTypes()).toEqual([
        'WORKFLOW_EXECUTION_STARTED',
        ...Array(3)
          .fill(['ACTIVITY_TASK_SCHEDULED', 'ACTIVITY_TASK_STARTED', 'ACTIVITY_TASK_COMPLETED'])
          .flat(),
        'WORKFLOW_EXECUTION_COMPLETED',
      ]);
      expect(stage.ledger.entries(place.key).map((entry) => entry.value)).toEqual([1, 2, 3]);
      const [scheduled] = await run.eventsOf('ACTIVITY_TASK_SCHEDULED');
      expect(scheduled!.attributes).toMatchObject({ activityType: 'serialSteps#note', stepName: 'note' });
      const [completed] = await run.eventsOf('ACTIVITY_TASK_COMPLETED');
      expect(completed!.attributes).toMatchObject({ scheduledEventId: scheduled!.id, result: '1' });
    });

    test('steps called together are scheduled together and answer in the order of the calls (AC-19)', async () => {
      const place = stage.place();
      const run = await stage.start('parallelSteps', { ...place, count: 40 });
      expect(await run.result()).toEqual(Array.from({ length: 40 }, (_, index) => index));
      const types = await run.eventTypes();
      expect(types.slice(1, 41)).toEqual(Array(40).fill('ACTIVITY_TASK_SCHEDULED'));
      expect(stage.ledger.entries(place.key)).toHaveLength(40);
    });

    test('a race is won by the first step while the other goes on', async () => {
      const place = stage.place();
      const run = await stage.start('racingSteps', place);
      await run.until('ACTIVITY_TASK_COMPLETED');
      await stage.ledger.until(place.key, 'started');
      stage.ledger.release(place.key);
      expect(await run.result()).toEqual(['fast', `released ${place.key}`]);
    });
  });

  describe('step failures and retries', () => {
    test('a step is tried again until it succeeds, and leaves one outcome (AC-03)', async () => {
      const place = stage.place();
      const run = await stage.start('callFlaky', { ...place, step: 'flaky', failures: 3 });
      expect(await run.result()).toEqual({ value: 4 });
      const entries = stage.ledger.entries(place.key);
      expect(entries.map((entry) => entry.attempt)).toEqual([1, 2, 3, 4]);
      expect(new Set(entries.map((entry) => entry.idempotencyKey)).size).toBe(1);
      const [started] = await run.eventsOf('ACTIVITY_TASK_STARTED');
      expect(started!.attributes).toMatchObject({ attempt: 4, lastFailure: { message: 'attempt 3 failed' } });
      expect(await run.eventTypes()).toEqual([
        'WORKFLOW_EXECUTION_STARTED',
        'ACTIVITY_TASK_SCHEDULED',
        'ACTIVITY_TASK_STARTED',
        'ACTIVITY_TASK_COMPLETED',
        'WORKFLOW_EXECUTION_COMPLETED',
      ]);
    });

    test('when the attempts are used up, the last failure counts (AC-03)', async () => {
      const place = stage.place();
      const run = await stage.start('callFlaky', { ...place, step: 'flaky', failures: 9 });
      const { error } = (await run.result()) as { error: Described };
      expect(innermost(error)).toMatchObject({ name: 'Error', message: 'attempt 4 failed' });
      expect(stage.ledger.entries(place.key)).toHaveLength(4);
      const [failed] = await run.eventsOf('ACTIVITY_TASK_FAILED');
      expect(failed!.attributes.retryState).toBe('MAXIMUM_ATTEMPTS_REACHED');
    });

    test('an error comes back with its class, properties and causes (AC-01)', async () => {
      const run = await stage.start('callFlaky', {
        ...stage.place(),
        step: 'flakyOnce',
        failures: 9,
        error: 'DeclinedError',
      });
      const { error } = (await run.result()) as { error: Described };
      const chain = causes(error);
      expect(chain.find((each) => each.name === 'DeclinedError')).toMatchObject({
        message: 'attempt 1 failed',
        code: 'E_DECLINED',
        cause: {
          name: 'TypeError',
          message: 'card expired',
          cause: { name: 'Error', message: 'issuer said no' },
        },
      });
      expect(chain.some((each) => each.activityType === 'callFlaky#flakyOnce')).toBe(true);
    });

    test('a step error that nobody catches fails the run under its own name, with the step', async () => {
      const run = await stage.start('passFlaky', {
        ...stage.place(),
        step: 'flakyOnce',
        failures: 9,
        error: 'QuietError',
      });
      const { status, failure } = await run.outcome();
      expect(status).toBe('failed');
      expect(failure).toMatchObject({ activityType: 'passFlaky#flakyOnce' });
      expect(JSON.stringify(failure)).toContain('"type":"QuietError"');
      expect(JSON.stringify(failure)).toContain('attempt 1 failed');
      expect((await run.eventTypes()).slice(-2)).toEqual([
        'ACTIVITY_TASK_FAILED',
        'WORKFLOW_EXECUTION_FAILED',
      ]);
    });

    test('a thrown text is an error with that message', async () => {
      const run = await stage.start('callFlaky', {
        ...stage.place(),
        step: 'flakyOnce',
        failures: 9,
        error: 'string',
      });
      const { error } = (await run.result()) as { error: Described };
      expect(innermost(error).message).toBe('attempt 1 failed');
    });

    test.each([
      ['flaky', 'FatalError'],
      ['flaky', 'ValidationError'],
      ['flakyListed', 'DeclinedError'],
      ['flakyListed', 'QuietError'],
    ])('%s with a %s stops at the first attempt (AC-02)', async (step, error) => {
      const place = stage.place();
      const run = await stage.start('callFlaky', { ...place, step, failures: 9, error });
      const result = (await run.result()) as { error: Described };
      expect(causes(result.error).map((each) => each.name)).toContain(error);
      expect(stage.ledger.entries(place.key)).toHaveLength(1);
      const [failed] = await run.eventsOf('ACTIVITY_TASK_FAILED');
      expect(failed!.attributes.retryState).toBe('NON_RETRYABLE_FAILURE');
    });

    test('an error that is not on the list is retried', async () => {
      expect(await stage.run('callFlaky', { ...stage.place(), step: 'flakyListed', failures: 1 })).toEqual({
        value: 2,
      });
    });

    test('the wait between attempts grows and is capped, below a second too (AC-04)', async () => {
      const place = stage.place();
      const run = await stage.start('callFlaky', { ...place, step: 'flakyBackoff', failures: 3 });
      await run.result();
      const at = stage.ledger.entries(place.key).map((entry) => entry.at);
      const waits = at.slice(1).map((each, index) => each - at[index]!);
      [50, 150, 200].forEach((expected, index) => {
        expect(waits[index]).toBeGreaterThanOrEqual(expected - 2);
      });
      // Nothing of it is rounded to seconds; how much longer a wait takes is a matter of the machine.
      const [scheduled] = await run.eventsOf('ACTIVITY_TASK_SCHEDULED');
      expect(scheduled!.attributes.settings).toMatchObject({
        retry: { initialIntervalMs: 50, backoffCoefficient: 3, maximumIntervalMs: 200 },
      });
    });

    test('without options a step is tried three times', async () => {
      const place = stage.place();
      const run = await stage.start('callFlaky', { ...place, step: 'flakyByDefault', failures: 9 });
      const [scheduled] = [await run.until('ACTIVITY_TASK_SCHEDULED')];
      expect(scheduled.attributes.settings).toEqual({
        startToCloseTimeoutMs: 1_200_000,
        retry: {
          initialIntervalMs: 1_000,
          backoffCoefficient: 2,
          maximumIntervalMs: 60_000,
          maximumAttempts: 3,
          nonRetryableErrorTypes: [],
        },
      });
      await run.result();
      expect(stage.ledger.entries(place.key)).toHaveLength(3);
    });

    test("the workflow's step options hold for steps that say nothing themselves", async () => {
      expect(await stage.run('stepOptionsOfWorkflow', stage.place())).toEqual({ value: 5 });
    });
  });
}
