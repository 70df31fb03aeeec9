import { describe, expect, it } from 'vitest';
import { EVENT_TYPES, type HistoryEvent } from '../../core/history/event.js';
import { DEFAULT_START_TO_CLOSE_MS, DEFAULT_STEP_RETRY } from '../../core/run/retry.js';
import { decodeEvents, encodeEvents } from './stored-events.js';

const scheduled = (id: number, more: object): HistoryEvent => ({
  id,
  at: 1_800_000_000_000 + id,
  type: 'ACTIVITY_TASK_SCHEDULED',
  attributes: {
    activityId: '1',
    activityType: 'order#pay',
    stepName: 'pay',
    input: ['{"n":"1"}'],
    settings: { startToCloseTimeoutMs: DEFAULT_START_TO_CLOSE_MS, retry: DEFAULT_STEP_RETRY, ...more },
  },
});

describe('stored events', () => {
  const events: HistoryEvent[] = [
    { id: 7, at: 1_800_000_000_000, type: 'WORKFLOW_TASK_SCHEDULED', attributes: { attempt: 1 } },
    scheduled(8, {}),
    {
      ...scheduled(9, {}),
      attributes: { ...scheduled(9, {}).attributes, handedOut: true, countsFrom: 1_700_000_000_000 },
    } as HistoryEvent,
    scheduled(10, { heartbeatTimeoutMs: 5 }),
    scheduled(11, { scheduleToStartTimeoutMs: 5 }),
    scheduled(12, { scheduleToCloseTimeoutMs: 5 }),
    scheduled(13, { startToCloseTimeoutMs: 5 }),
    scheduled(14, { retry: { ...DEFAULT_STEP_RETRY, nonRetryableErrorTypes: ['No'] } }),
    ...(['initialIntervalMs', 'backoffCoefficient', 'maximumIntervalMs', 'maximumAttempts'] as const).map(
      (name, index) => scheduled(15 + index, { retry: { ...DEFAULT_STEP_RETRY, [name]: 7 } }),
    ),
  ];

  it('are read as they were written', () => {
    expect(encodeEvents(events).flatMap(decodeEvents)).toEqual(events);
  });

  it('leave out what is usual', () => {
    expect(encodeEvents(events.slice(0, 2))).toEqual([
      {
        lastEventId: 8,
        text: '[[1800000000000,5,{"attempt":1}],[1800000000008,10,{"activityId":"1","activityType":"order#pay","stepName":"pay","input":["{\\"n\\":\\"1\\"}"]}]]',
      },
    ]);
  });

  it.each<Pick<HistoryEvent, 'type' | 'attributes'>>([
    { type: 'WORKFLOW_TASK_SCHEDULED', attributes: { attempt: 2 } },
    { type: 'WORKFLOW_TASK_STARTED', attributes: { scheduledEventId: 2 } },
    {
      type: 'WORKFLOW_TASK_STARTED',
      attributes: { scheduledEventId: 2, suggestContinueAsNew: true, workflowTime: 1_800_000_000_001 },
    },
    {
      type: 'WORKFLOW_TASK_STARTED',
      attributes: { scheduledEventId: 2, suggestContinueAsNew: false, workflowTime: undefined },
    },
    { type: 'WORKFLOW_TASK_COMPLETED', attributes: { scheduledEventId: 2, startedEventId: 3 } },
    {
      type: 'ACTIVITY_TASK_STARTED',
      attributes: { scheduledEventId: 5, attempt: 1, lastFailure: undefined },
    },
    {
      type: 'ACTIVITY_TASK_STARTED',
      attributes: {
        scheduledEventId: 5,
        attempt: 3,
        lastFailure: { kind: 'application', type: 'Error', message: 'he said "no"\n\ud83d' },
      },
    },
  ] as Pick<HistoryEvent, 'type' | 'attributes'>[])(
    'put together by hand, have the text that JSON gives them: $type $attributes',
    (event) => {
      const [piece] = encodeEvents([{ id: 1, at: 5, ...event } as HistoryEvent]);
      expect(piece!.text).toBe(`[[5,${EVENT_TYPES[event.type]},${JSON.stringify(event.attributes)}]]`);
    },
  );

  it('can be read in the form that came before', () => {
    expect(decodeEvents({ text: JSON.stringify(events), lastEventId: 18 })).toEqual(events);
  });

  it('are cut into rows by number and by size, none of which is missing', () => {
    const signal = (id: number, length: number): HistoryEvent => ({
      id,
      at: 1,
      type: 'WORKFLOW_EXECUTION_SIGNALED',
      attributes: { signalName: 's', input: ['x'.repeat(length)] },
    });
    const many = Array.from({ length: 1_201 }, (_, index) => signal(index + 1, 1));
    expect(encodeEvents(many).map(({ lastEventId }) => lastEventId)).toEqual([500, 1_000, 1_201]);
    const large = Array.from({ length: 7 }, (_, index) => signal(index + 1, 700_000));
    expect(encodeEvents(large).map(({ lastEventId }) => lastEventId)).toEqual([2, 4, 6, 7]);
    expect(encodeEvents(large).flatMap(decodeEvents)).toEqual(large);
    expect(encodeEvents([])).toEqual([]);
  });
});
