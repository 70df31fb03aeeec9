/** What reasons say together. */
import { describe, expect, it } from 'vitest';
import { type StuckRun, stuckAt, type WhyReason, whyAnswer } from './why.js';
import { childReasons, LooksBelow } from './why-children.js';
import { pausedReason, stepQueuedReason, timerReason, waitingReasonsInPassing } from './why-reasons.js';

const RUN = { workflowId: 'a', runId: 'ra', workflowType: 'order' };
const STUCK: StuckRun = {
  workflowId: 'b',
  runId: 'rb',
  workflowType: 'payment',
  summary: 'It waits for a message.',
};

const child = (workflowId: string) => ({
  ...{ workflowId, runId: `r${workflowId}`, workflowType: 'payment', status: 'running' as const },
});
const answer = (reasons: WhyReason[]) =>
  whyAnswer({ ...RUN, status: 'running', since: null, asOf: '', reasons });

const [stuckChild, busyChild] = childReasons([
  { child: child('b'), stuck: STUCK },
  { child: child('c'), stuck: undefined },
]) as [WhyReason, WhyReason];

describe('a run that waits for children', () => {
  it.each<[string, WhyReason[], boolean]>([
    ['one that is stuck', [stuckChild], true],
    ['several that are stuck', [stuckChild, stuckChild], true],
    ['one that goes on', [busyChild], false],
    ['one that is stuck and one that goes on', [stuckChild, busyChild], false],
    ['one that is stuck, until a time', [stuckChild, timerReason(1)], false],
    [
      'one that is stuck, beside a step',
      [stuckChild, stepQueuedReason({ stepName: 's', activityId: '1' }, 0, false, 0)],
      false,
    ],
    [
      'one that goes on, and is paused itself',
      [pausedReason(RUN, { reason: 'x', since: 0, by: 'operator' }), busyChild],
      true,
    ],
  ])('%s', (_what, reasons, isStuck) => {
    expect(answer(reasons).isStuck).toBe(isStuck);
    expect(stuckAt(RUN, reasons) !== undefined).toBe(isStuck);
  });

  it('is told of those that are stuck first, and where', () => {
    const reasons = childReasons([
      { child: child('c'), stuck: undefined },
      { child: child('d'), stuck: STUCK },
      { child: child('b'), stuck: STUCK },
    ]);
    expect(reasons.map(({ message }) => message)).toEqual([
      'It waits for its child "payment" (d), below which "payment" (b) is stuck: it waits for a message.',
      'It waits for its child "payment" (b), which is stuck: it waits for a message.',
      'It waits for its child "payment" (c).',
    ]);
    expect(reasons.map(({ action }) => action?.split(': ')[1])).toEqual([
      'GET /workflow/b/why',
      'GET /workflow/b/why',
      'GET /workflow/c/why',
    ]);
  });

  it('leads over all generations to the one that has to be acted on', () => {
    expect(stuckAt(RUN, [stuckChild])).toEqual(STUCK);
    const message = waitingReasonsInPassing(RUN, []);
    expect(stuckAt(RUN, message)).toEqual({ ...RUN, summary: 'It waits for a message.' });
    const paused = pausedReason(RUN, { reason: 'for a look', since: 0, by: 'operator' });
    expect(stuckAt(RUN, [paused, stuckChild])).toEqual({ ...RUN, summary: 'It is paused: for a look.' });
  });

  it('is not looked below without end', () => {
    const looks = new LooksBelow();
    let taken = 0;
    while (taken < 1_000 && looks.take()) taken++;
    expect(taken).toBe(20);
  });
});
