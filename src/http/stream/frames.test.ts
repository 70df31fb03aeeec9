import { expect, it } from 'vitest';
import type { HistoryEvent } from '../../core/history/event.js';
import { Batch, costFrame, doneFrame, type Form, workflowFrame } from './frames.js';

const FORMS: Form[] = [false, true].flatMap((includePayloads) =>
  [false, true].map((hasRunInIds) => ({ includePayloads, hasRunInIds })),
);
const batchOf = (count: number, after = 10, text = 'a payload') => {
  const events = Array.from({ length: count }, (_, at) => ({
    ...{ id: after + at + 1, at: 1, type: 'WORKFLOW_EXECUTION_SIGNALED' },
    attributes: { signalName: 's', input: [JSON.stringify(text)] },
  })) as HistoryEvent[];
  return new Batch('the-run', events, new Map());
};
const eventIds = (bytes: Buffer) =>
  [...bytes.toString().matchAll(/"eventId":"(\d+)"/g)].map(([, id]) => Number(id));

it('a batch looks to each reader as that one wants it, whoever asks before', () => {
  const batch = batchOf(2);
  for (const form of [...FORMS, ...FORMS]) {
    const text = batch.frameAfter(10, form)!.bytes.toString();
    expect(text.includes('a payload')).toBe(form.includePayloads);
    expect(text).toMatch(form.hasRunInIds ? /^id: the-run\/12\n/ : /^id: 12\n/);
  }
});

it('a reader goes on after what it has, also in the middle of what others get as one', () => {
  const batch = batchOf(5);
  for (const form of FORMS) {
    expect(eventIds(batch.frameAfter(10, form)!.bytes)).toEqual([11, 12, 13, 14, 15]);
    expect(eventIds(batch.frameAfter(13, form)!.bytes)).toEqual([14, 15]);
    expect(batch.frameAfter(9, form)).toBeUndefined();
    expect(batch.frameAfter(15, form)).toBeUndefined();
  }
});

it('much is sent in several frames, which follow on each other', () => {
  const form = { includePayloads: true, hasRunInIds: false };
  const batch = batchOf(10, 0, 'x'.repeat(30_000));
  const seen: number[] = [];
  let frames = 0;
  for (let frame = batch.frameAfter(0, form); frame; frame = batch.frameAfter(frame.last, form)) {
    seen.push(...eventIds(frame.bytes));
    frames++;
  }
  expect(seen).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  expect(frames).toBeGreaterThan(2);
});

it('what carries no events has no id, so that whoever resumes after it has missed none', () => {
  const terminal: HistoryEvent = { id: 7, at: 1, type: 'WORKFLOW_EXECUTION_COMPLETED', attributes: {} };
  const metadata = { workflowId: 'w', runId: 'r', historyLength: 7 };
  for (const frame of [workflowFrame(metadata), costFrame({ records: [] }), doneFrame(terminal)])
    expect(frame).toMatch(/^event: \w+\ndata: .*\n\n$/);
});
