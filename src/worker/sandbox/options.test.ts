import { describe, expect, test } from 'vitest';
import { ScriptedRun } from './scripted-run.fixture.js';

describe('a step with other options for one call', () => {
  test('has them over its own, those over the workflow, and the next call has its own again', () => {
    const run = new ScriptedRun(({ workflow }, step) => {
      const charge = step('charge', {
        heartbeatTimeout: '7s',
        startToCloseTimeout: '1m',
        retry: { maximumAttempts: 5, initialInterval: '2s' },
      });
      return workflow({
        name: 'test',
        options: { stepOptions: { scheduleToCloseTimeout: '1h', retry: { backoffCoefficient: 3 } } },
        fn: async () => {
          const patient = charge.with({ startToCloseTimeout: '5m', retry: { maximumAttempts: 9 } });
          await Promise.all([patient(), patient.with({ retry: { maximumAttempts: 1 } })(), charge()]);
        },
      });
    });
    const common = { scheduleToCloseTimeoutMs: 3_600_000, heartbeatTimeoutMs: 7_000 };
    const retry = { initialIntervalMs: 2_000, backoffCoefficient: 3 };
    expect(run.start().turn()).toMatchObject([
      {
        stepName: 'charge',
        settings: { ...common, startToCloseTimeoutMs: 300_000, retry: { ...retry, maximumAttempts: 9 } },
      },
      { settings: { ...common, startToCloseTimeoutMs: 300_000, retry: { ...retry, maximumAttempts: 1 } } },
      { settings: { ...common, startToCloseTimeoutMs: 60_000, retry: { ...retry, maximumAttempts: 5 } } },
    ]);
  });

  test('takes no option that it does not know', () => {
    const run = new ScriptedRun(({ workflow }, step) =>
      workflow({ name: 'test', fn: async () => await step('a').with({ heartbeat: '1s' } as never)() }),
    );
    expect(run.start().turn()).toMatchObject([
      {
        kind: 'failRun',
        failure: { message: expect.stringContaining('step "a" has no option "heartbeat"') },
      },
    ]);
  });
});

describe('calls with options that nobody knows', () => {
  test.each([
    [
      'sendHttpRequest({ url: "http://x", responseOptions: { includeBody: false } })',
      'responseOptions of sendHttpRequest() has no option "includeBody": did you mean "body"?',
    ],
    [
      'sendHttpRequest({ url: "http://x", header: {} })',
      'sendHttpRequest() has no option "header": did you mean "headers"?',
    ],
    ['sendHttpRequest("http://x")', 'sendHttpRequest() must be an object with url, '],
    ['executeInParallel({ job: [] })', 'executeInParallel() has no option "job": did you mean "jobs"?'],
    [
      'child({}, { workflowID: "x" })',
      'the call of workflow "child" has no option "workflowID": did you mean "workflowId"?',
    ],
    [
      'new CancellationScope({ timeOut: 1 })',
      'new CancellationScope() has no option "timeOut": did you mean "timeout"?',
    ],
    [
      'setHandler(defineSignal("s"), () => {}, { validate: () => {} })',
      'setHandler() of signal "s" has no option "validate"',
    ],
  ])('%s', (call, message) => {
    const run = new ScriptedRun({
      workflowType: 'test',
      filename: 'test/workflow.ts',
      exportName: 'default',
      stateless: false,
      code: `"use strict";
const { workflow, sendHttpRequest, executeInParallel, CancellationScope, setHandler, defineSignal } = require('perdure');
const child = workflow({ name: 'child', fn: async () => {} });
exports.default = workflow({ name: 'test', fn: async () => { await ${call}; } });`,
    });
    expect(run.start().turn()).toMatchObject([
      { kind: 'failRun', failure: { type: 'DefinitionError', message: expect.stringContaining(message) } },
    ]);
  });
});
