import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EVENT_TYPES, type HistoryEvent } from '../../core/history/event.js';
import { DEFAULT_START_TO_CLOSE_MS, DEFAULT_STEP_RETRY } from '../../core/run/retry.js';
import { decodeEvents, encodeEvents } from './stored-events.js';

const AT = 1_800_000_000_000;

const scheduled = (id: number, more: object): HistoryEvent => ({
  id,
  at: AT + id,
  type: 'ACTIVITY_TASK_SCHEDULED',
  attributes: {
    activityId: '1',
    activityType: 'order#pay',
    stepName: 'pay',
    input: ['{"n":"1"}'],
    settings: { startToCloseTimeoutMs: DEFAULT_START_TO_CLOSE_MS, retry: DEFAULT_STEP_RETRY, ...more },
  },
});

/** How far behind the event the one is that it refers to. */
const behind = fc.integer({ min: 1, max: 3 });
const text = fc.string({ unit: 'binary' });
const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const at = fc.integer({ min: AT, max: AT + 20 });

/** With every member that such an event may have. */
const anyEvent = fc.oneof(
  fc.record({
    at,
    type: fc.constant('WORKFLOW_TASK_SCHEDULED'),
    attributes: fc.record({ attempt: fc.integer({ min: 1, max: 2 }) }),
  }),
  fc.record({
    at,
    type: fc.constant('WORKFLOW_TASK_STARTED'),
    attributes: fc.record({
      scheduledEventId: behind,
      suggestContinueAsNew: optional(fc.boolean()),
      workflowTime: optional(at),
    }),
  }),
  fc.record({
    at,
    type: fc.constant('WORKFLOW_TASK_COMPLETED'),
    attributes: fc.record({ scheduledEventId: behind, startedEventId: behind }),
  }),
  fc.record({
    at,
    type: fc.constant('ACTIVITY_TASK_SCHEDULED'),
    attributes: fc.record({
      ...{ activityId: text, activityType: text, stepName: text },
      input: fc.array(text, { maxLength: 2 }),
      settings: fc.constantFrom(scheduled(1, {}), scheduled(1, { heartbeatTimeoutMs: 5 })).map(settingsOf),
      handedOut: fc.constantFrom(undefined, true),
      countsFrom: optional(at),
    }),
  }),
  fc.record({
    at,
    type: fc.constant('ACTIVITY_TASK_STARTED'),
    attributes: fc.record({
      scheduledEventId: behind,
      attempt: fc.integer({ min: 1, max: 2 }),
      lastFailure: optional(fc.record({ kind: fc.constant('application'), type: text, message: text })),
    }),
  }),
  fc.record({
    at,
    type: fc.constant('ACTIVITY_TASK_COMPLETED'),
    attributes: fc.record({
      ...{ scheduledEventId: behind, startedEventId: behind },
      result: optional(text),
      costs: optional(fc.array(fc.record({ type: text }))),
    }),
  }),
  fc.record({
    at,
    type: fc.constant('WORKFLOW_EXECUTION_SIGNALED'),
    attributes: fc.record({ signalName: text, input: fc.array(text) }),
  }),
);

function referring({ attributes, ...event }: { id: number; attributes: object }): HistoryEvent {
  const absolute = Object.entries(attributes).map(([name, value]) => [
    name,
    name.endsWith('EventId') ? event.id - value : value,
  ]);
  return { ...event, attributes: Object.fromEntries(absolute) } as HistoryEvent;
}

function settingsOf({ attributes }: HistoryEvent): unknown {
  return (attributes as { settings: unknown }).settings;
}

describe('stored events', () => {
  const events: HistoryEvent[] = [
    { id: 7, at: AT, type: 'WORKFLOW_TASK_SCHEDULED', attributes: { attempt: 1 } },
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

  const TURN_OF_A_STEP: HistoryEvent[] = [
    { id: 6, at: AT, type: 'ACTIVITY_TASK_STARTED', attributes: { scheduledEventId: 5, attempt: 1 } },
    {
      id: 7,
      at: AT + 4,
      type: 'ACTIVITY_TASK_COMPLETED',
      attributes: { scheduledEventId: 5, startedEventId: 6, result: '{"n":7}' },
    },
    { id: 8, at: AT + 4, type: 'WORKFLOW_TASK_SCHEDULED', attributes: { attempt: 1 } },
    { id: 9, at: AT + 4, type: 'WORKFLOW_TASK_STARTED', attributes: { scheduledEventId: 8 } },
    {
      id: 10,
      at: AT + 5,
      type: 'WORKFLOW_TASK_COMPLETED',
      attributes: { scheduledEventId: 8, startedEventId: 9 },
    },
    {
      ...scheduled(11, {}),
      attributes: { ...scheduled(11, {}).attributes, handedOut: true },
    } as HistoryEvent,
  ];

  it('leave out what is usual and what follows from their numbers', () => {
    const [piece] = encodeEvents(TURN_OF_A_STEP);
    expect(piece).toEqual({
      lastEventId: 11,
      text: `[2,${AT},[0,11,1],[4,12,2,"{\\"n\\":7}"],[0,5],[0,6],[1,7],[6,10,"1","order#pay","pay","{\\"n\\":\\"1\\"}"]]`,
    });
    expect(decodeEvents(piece!)).toEqual(TURN_OF_A_STEP);
  });

  it('are written whole where anything about them is unusual', () => {
    expect(encodeEvents(events.slice(0, 2))[0]!.text).toBe(
      `[2,${AT},[0,5],[8,10,{"activityId":"1","activityType":"order#pay","stepName":"pay","input":["{\\"n\\":\\"1\\"}"]}]]`,
    );
  });

  it('go back in time where a clock did', () => {
    const back: HistoryEvent[] = [AT, AT - 7, AT + 1].map((at, index) => ({
      ...{ id: index + 1, at, type: 'WORKFLOW_TASK_SCHEDULED', attributes: { attempt: 1 } },
    }));
    expect(encodeEvents(back).flatMap(decodeEvents)).toEqual(back);
  });

  it('are read as they were written, whatever they say', () => {
    fc.assert(
      fc.property(fc.array(anyEvent, { minLength: 1, maxLength: 30 }), fc.nat(1_000), (made, before) => {
        const numbered = made.map((event, index) => referring({ ...event, id: before + index + 4 }));
        expect(encodeEvents(numbered).flatMap(decodeEvents)).toEqual(numbered);
      }),
      { numRuns: 500 },
    );
  });

  it('can be read in the forms that came before', () => {
    expect(decodeEvents({ text: JSON.stringify(events), lastEventId: 18 })).toEqual(events);
    const second = TURN_OF_A_STEP.map(({ at, type, attributes }) => {
      const { settings: _usual, ...others } = attributes as { settings?: unknown };
      return [at, EVENT_TYPES[type], others];
    });
    expect(decodeEvents({ text: JSON.stringify(second), lastEventId: 11 })).toEqual(TURN_OF_A_STEP);
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
