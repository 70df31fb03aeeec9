import { describe, expect, it } from 'vitest';
import type { RunEvent } from '../../client/index.js';
import { err } from '../colours.js';
import { Progress } from './progress.js';
import { widthOf } from './screen.js';
import { screenOf } from './watching.js';

const STEPS = 500;
const at = (eventTypeName: string, eventId: number, attributes: object) =>
  ({
    ...{ eventId: String(eventId), eventTypeName, runId: 'r', eventTime: new Date(0).toISOString() },
    someEventAttributes: attributes,
  }) as unknown as RunEvent;

/** Steps that began together, of which all have ended but the third. */
function parallel(): Progress {
  const progress = new Progress(err);
  for (let id = 1; id <= STEPS; id++)
    progress.take(at('ACTIVITY_TASK_SCHEDULED', id, { stepName: `schließe 注文 ${id} 👩‍👩‍👧` }));
  for (let id = 1; id <= STEPS; id++)
    if (id !== 3) progress.take(at('ACTIVITY_TASK_COMPLETED', STEPS + id, { scheduledEventId: String(id) }));
  return progress;
}

describe('the line of a step that has failed', () => {
  it('has the error that it failed with, and not what caused that', () => {
    const progress = new Progress(err);
    progress.take(at('ACTIVITY_TASK_SCHEDULED', 1, { stepName: 'charge' }));
    const failure = {
      ...{ type: 'CardError', message: 'declined' },
      cause: { type: 'TypeError', message: 'x is not a function' },
    };
    expect(progress.take(at('ACTIVITY_TASK_FAILED', 2, { scheduledEventId: '1', failure }))).toContain(
      'step charge failed (0 ms, CardError: declined)',
    );
  });
});

describe('what is drawn of a run', () => {
  const draw = (columns: number, rows: number) =>
    screenOf(parallel(), { title: 'order 注文-7', startedAt: 0, now: 1_000, columns, rows });

  it.each([
    [80, 24],
    [40, 24],
    [40, 2],
    [10, 4],
    [1, 1],
  ])('fits a terminal of %d columns and %d rows, with the line of the cursor', (columns, rows) => {
    const lines = draw(columns, rows);
    expect(lines.length).toBeLessThanOrEqual(Math.max(1, rows - 1));
    for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(columns);
  });

  it('has what goes on, however much began after it and has ended', () => {
    const lines = draw(80, 24);
    expect(lines[1]).toContain('… 480 more');
    expect(lines[2]).toMatch(/● step schließe 注文 3 /);
    expect(lines.at(-2)).toMatch(/✓ step schließe 注文 500 /);
  });
});
