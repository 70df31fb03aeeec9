import { expect, test } from 'vitest';
import { readable } from './turn-failure.js';

test('what core says about code that does not fit is told in the words of the history', () => {
  const message =
    '[TMPRL1100] Nondeterminism error: Timer machine does not handle this event: HistoryEvent(id: 5, ActivityTaskScheduled)';
  expect(readable(message)).toBe(
    'the code does not fit the history: Timer machine does not handle this event: event 5, ACTIVITY_TASK_SCHEDULED',
  );
  expect(readable('anything else')).toBe('anything else');
});
