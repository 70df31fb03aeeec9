import { describe, expect, it } from 'vitest';
import type { Failure } from '../../core/history/failure.js';
import type { RunOutcome } from '../../engine.js';
import { resultText } from './result.js';

const RUN = { workflowId: 'a "quoted"\u2028 id', runId: '0198c0de-0000-7000-8000-000000000000' };

function outcome(parts: Partial<RunOutcome>): RunOutcome {
  return {
    ...RUN,
    status: 'completed',
    input: '1',
    output: '2',
    failure: undefined,
    format: 'current',
    trace: null,
    ...parts,
  };
}

const result = (parts: Partial<RunOutcome>) => JSON.parse(resultText(outcome(parts)));

const STEP: Failure = {
  kind: 'step',
  type: 'CardDeclined',
  message: 'no "funds"',
  activityType: 'order#charge',
  attempt: 3,
  stackTrace: 'CardDeclined: at secret.ts:1',
  properties: { code: 51, stack: 'hidden', name: 'Forged', nested: { a: [1] } },
  cause: { kind: 'application', type: 'Error', message: 'socket', stackTrace: 'at x' },
};

describe('the current form', () => {
  it('has exactly its properties', () => {
    expect(result({})).toEqual({
      v: '2',
      ...RUN,
      status: 'completed',
      input: 1,
      output: 2,
      trace: null,
      error: null,
    });
    expect(Object.keys(result({ status: 'failed', failure: STEP }))).toEqual([
      'v',
      'workflowId',
      'runId',
      'status',
      'input',
      'output',
      'trace',
      'error',
    ]);
  });

  it('gives payloads back as they are, to the byte', () => {
    const texts = [
      '0',
      'false',
      '""',
      'null',
      '{"b":1,"a":[1.0,-0,1e5]}',
      '"\\u2028 \\ud800 \\""',
      '12345678901234567890',
    ];
    for (const text of texts) {
      expect(resultText(outcome({ input: text, output: text }))).toContain(
        `"input":${text},"output":${text},"trace"`,
      );
    }
  });

  it('says null where there is no input or output', () => {
    expect(result({ input: undefined, output: undefined })).toMatchObject({ input: null, output: null });
  });

  it('names the original error and the step it came from, without stacks', () => {
    const failed = result({ status: 'failed', output: undefined, failure: STEP });
    expect(failed).toMatchObject({ status: 'failed', output: null });
    expect(failed.error).toEqual({
      name: 'CardDeclined',
      message: 'no "funds"',
      activityType: 'order#charge',
      code: 51,
      nested: { a: [1] },
      cause: { name: 'Error', message: 'socket' },
    });
  });

  it('ends a chain of causes after ten', () => {
    let failure: Failure = { kind: 'application', type: 'Error', message: 'root' };
    for (let i = 0; i < 30; i++)
      failure = { kind: 'application', type: 'Error', message: `${i}`, cause: failure };
    let depth = 0;
    for (let error = result({ status: 'failed', failure }).error; error.cause; error = error.cause) depth++;
    expect(depth).toBe(10);
  });

  it.each([
    ['cancelled', 'CancelledError'],
    ['terminated', 'TerminatedError'],
    ['timed_out', 'TimeoutError'],
  ] as const)('carries an error when %s', (status, name) => {
    expect(result({ status, output: undefined })).toMatchObject({ status, output: null, error: { name } });
  });

  it('keeps the reason of a termination', () => {
    const failure: Failure = { kind: 'terminated', type: 'TerminatedError', message: 'wrong order' };
    expect(result({ status: 'terminated', failure }).error).toEqual({
      name: 'TerminatedError',
      message: 'wrong order',
    });
  });

  it('has neither output nor error when the run was continued', () => {
    expect(result({ status: 'continued_as_new', output: undefined })).toMatchObject({
      output: null,
      error: null,
    });
  });
});

describe('the legacy form', () => {
  it('has exactly its properties and no version', () => {
    expect(result({ format: 'legacy' })).toEqual({
      ...RUN,
      status: 'completed',
      input: 1,
      output: 2,
      trace: null,
      error: null,
      errorDetails: null,
    });
  });

  it('splits an error into a message and details', () => {
    expect(result({ format: 'legacy', status: 'failed', failure: STEP })).toMatchObject({
      error: 'no "funds"',
      errorDetails: {
        message: 'no "funds"',
        name: 'CardDeclined',
        retryable: true,
        activityId: 'order#charge',
        cause: { name: 'Error', message: 'socket' },
      },
    });
  });

  it('says null for what is unknown', () => {
    const { errorDetails } = result({ format: 'legacy', status: 'cancelled' });
    expect(errorDetails).toEqual({
      message: 'The workflow was cancelled',
      name: 'CancelledError',
      retryable: null,
      activityId: null,
      cause: null,
    });
  });
});
