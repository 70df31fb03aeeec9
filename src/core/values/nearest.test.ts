import { describe, expect, it } from 'vitest';
import { nearestName, unknownName } from './nearest.js';

const FIELDS = ['workflowName', 'input', 'workflowId', 'catalog', 'taskQueue', 'timeout'];

describe('the nearest name', () => {
  it.each([
    ['workflowID', 'workflowId'],
    ['WorkflowName', 'workflowName'],
    ['workflow_id', 'workflowId'],
    ['timout', 'timeout'],
    ['inptu', 'input'],
    ['queue', undefined],
    ['somethingElseEntirely', undefined],
    ['', undefined],
  ])('of %j is %j', (mistyped, meant) => {
    expect(nearestName(mistyped, FIELDS)).toBe(meant);
  });

  it('is told, or what there is', () => {
    expect(unknownName('field', 'timout', FIELDS)).toBe('unknown field "timout": did you mean "timeout"?');
    expect(unknownName('field', 'x', ['a', 'b'])).toMatch(/^unknown field "x": /);
    expect(unknownName('field', 'reason', [])).toBe('unknown field "reason": there are none');
  });

  it('is looked for in a bounded time', () => {
    expect(nearestName('x'.repeat(2_000_000), FIELDS)).toBeUndefined();
  });
});

const OPTIONS = [
  'startToCloseTimeout',
  'scheduleToCloseTimeout',
  'heartbeatTimeout',
  'retry',
  'name',
  'maximumAttempts',
];

it.each([
  ['startToCloseTimout', 'startToCloseTimeout'],
  ['starttoclosetimeout', 'startToCloseTimeout'],
  ['hearbeatTimeout', 'heartbeatTimeout'],
  ['rerty', 'retry'],
  ['retries', 'retry'],
  ['nmae', 'name'],
  ['maxAttempts', 'maximumAttempts'],
  ['stepRetryPolicy', 'retry'],
  ['activityOptions', undefined],
  ['x', undefined],
])('%s was meant to be %s', (mistyped, meant) => expect(nearestName(mistyped, OPTIONS)).toBe(meant));
