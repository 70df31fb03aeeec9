import { expect, it } from 'vitest';
import {
  ATTEMPT_FAILED,
  type AttemptLine,
  MORE_FAILED,
  RUN_FAILED,
  type RunLine,
} from '../telemetry/failure-log.js';
import { sentenceOf } from './sentences.js';

const look = (path: string) => `curl 'http://127.0.0.1:3001${path}'`;
const nowhere = () => undefined;
const runId = '01890000-0000-7000-8000-0123456789ab';
const ATTEMPT: AttemptLine = {
  ...{ workflowId: 'ord 1', runId, workflowType: 'order', step: 'charge', attempt: 2, maximumAttempts: 5 },
  nextAttemptAt: null,
  error: { name: 'CardDeclined', message: 'no money' },
};
const RUN: RunLine = {
  ...{ workflowId: 'ord 1', runId, workflowType: 'order', status: 'failed', step: 'charge' },
  error: ATTEMPT.error,
};

it('tells of a failed attempt', () => {
  expect(sentenceOf(ATTEMPT_FAILED, ATTEMPT, nowhere)).toEqual({
    text: 'step charge of order ord 1 failed (attempt 2 of 5, no further attempt): CardDeclined: no money',
    hint: `run ${runId}`,
  });
  const nextAttemptAt = new Date(Date.now() + 3_600_000).toISOString();
  expect(sentenceOf(ATTEMPT_FAILED, { ...ATTEMPT, nextAttemptAt }, nowhere)?.text).toMatch(
    /\(attempt 2 of 5, again in (3600|3599) s\)/,
  );
});

it('tells of a failed run, and where to look', () => {
  expect(sentenceOf(RUN_FAILED, RUN, look)).toEqual({
    text: 'order ord 1 failed: CardDeclined: no money (step charge)',
    hint: `run ${runId}; look: curl 'http://127.0.0.1:3001/workflow/ord%201/runs/${runId}/history?pageSize=1000&includePayloads=true'`,
  });
  expect(sentenceOf(RUN_FAILED, { ...RUN, newRunId: 'the-next' }, look)?.hint).toBe(
    `run ${runId}, tried again as run the-next`,
  );
});

it('says the name of a workflow once where its id begins with it', () => {
  expect(sentenceOf(RUN_FAILED, { ...RUN, workflowId: 'order-x1' }, nowhere)).toEqual({
    text: 'order-x1 failed: CardDeclined: no money (step charge)',
    hint: `run ${runId}`,
  });
});

it('tells how much was left out', () => {
  expect(sentenceOf(MORE_FAILED, { attempts: 980, runs: 3, withinMs: 10_000 }, nowhere)?.text).toBe(
    '980 more failed attempts and 3 more failed runs in the last 10 s are not told one by one',
  );
});

it('is one line without anything that moves a cursor, however long and hostile the error', () => {
  const message = `\u001b[2J\u001b]0;title\u0007\r\nforged\u202e${'x'.repeat(10_000)}`;
  const { text } = sentenceOf(RUN_FAILED, { ...RUN, error: { name: 'E\n', message } }, nowhere)!;
  expect(text).toMatch(/^[\x20-\x7e…]+$/);
  expect(text.length).toBeLessThan(400);
});

it('leaves all other lines alone', () => {
  expect(sentenceOf('perdure listens', {}, nowhere)).toBeUndefined();
});

it.each<[string, object]>([
  [ATTEMPT_FAILED, {}],
  [ATTEMPT_FAILED, { ...ATTEMPT, nextAttemptAt: 5 }],
  [ATTEMPT_FAILED, { ...ATTEMPT, error: null }],
  [RUN_FAILED, { workflowId: 'ord 1', runId, workflowType: 'order', worker: 17 }],
  [RUN_FAILED, { ...RUN, error: 'no money' }],
  [RUN_FAILED, { ...RUN, runId: 5 }],
  [MORE_FAILED, { attempts: 'many' }],
])('leaves a line of user code alone that has the words "%s"', (message, fields) => {
  expect(sentenceOf(message, fields, look)).toBeUndefined();
});
