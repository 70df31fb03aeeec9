import { describe, expect, it } from 'vitest';
import type { HistoryEvent } from '../core/event.js';
import { DEFAULT_START_TO_CLOSE_MS, DEFAULT_STEP_RETRY } from '../core/retry.js';
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
    { ...scheduled(9, {}), attributes: { ...scheduled(9, {}).attributes, handedOut: true } } as HistoryEvent,
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
    expect(decodeEvents(encodeEvents(events), 18)).toEqual(events);
  });

  it('leave out what is usual', () => {
    expect(encodeEvents(events.slice(0, 2))).toBe(
      '[[1800000000000,5,{"attempt":1}],[1800000000008,10,{"activityId":"1","activityType":"order#pay","stepName":"pay","input":["{\\"n\\":\\"1\\"}"]}]]',
    );
  });

  it('can be read in the form that came before', () => {
    expect(decodeEvents(JSON.stringify(events), 18)).toEqual(events);
  });
});
