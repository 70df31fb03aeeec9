import { expect, test } from 'vitest';
import type { Failure } from '../../core/history/failure.js';
import { authoredStacks, restoreStacks } from './stacks.js';

const STACK = [
  'RangeError: too far',
  '    at measure (author:///order/workflow.ts:12:4)',
  '    at new Promise (<anonymous>)',
  '    at Run.activate (../../worker/sandbox/run.js:10:2)',
  '    at author:///shared/way.ts:3:0',
].join('\n');

test('the innermost place in an author’s file is found, with columns as editors count them', () => {
  expect(authoredStacks.innermost(STACK)).toBe('order/workflow.ts:12:5');
  expect(authoredStacks.innermost('Error: none\n    at x (/elsewhere.js:1:1)')).toBeUndefined();
});

test('of a failure and its causes only the frames of authors are left', () => {
  const failure: Failure = { kind: 'application', type: 'Error', message: 'm', stackTrace: STACK };
  failure.cause = { ...failure };
  restoreStacks(failure);
  const left = [
    'RangeError: too far',
    '    at measure (order/workflow.ts:12:5)',
    '    at new Promise (<anonymous>)',
    '    at shared/way.ts:3:1',
  ].join('\n');
  expect(failure.stackTrace).toBe(left);
  expect(failure.cause.stackTrace).toBe(left);
});
