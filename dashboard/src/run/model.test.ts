import type { HistoryEvent } from 'perdure/client';
import { describe, expect, it } from 'vitest';
import { emptyModel, subjectOf, take } from './model.js';

function modelOf(...events: [name: string, at: number, attributes?: object][]) {
  const model = emptyModel();
  const made = events.map(([eventTypeName, at, attributes = {}], index) => {
    const key = eventTypeName.toLowerCase().replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
    return {
      eventId: String(index + 1),
      eventTypeName,
      eventTime: new Date(at).toISOString(),
      [`${key}EventAttributes`]: attributes,
    } as unknown as HistoryEvent;
  });
  for (const event of made) take(model, event);
  return { model, events: made };
}

describe('what happened in a run', () => {
  it('has a step from its scheduling to its end, with the attempt that counts', () => {
    const { model } = modelOf(
      ['WORKFLOW_EXECUTION_STARTED', 0],
      ['ACTIVITY_TASK_SCHEDULED', 10, { stepName: 'charge', activityId: '1' }],
      ['ACTIVITY_TASK_STARTED', 50, { scheduledEventId: '2', attempt: 3 }],
      ['ACTIVITY_TASK_COMPLETED', 80, { scheduledEventId: '2' }],
    );
    expect(model.items).toMatchObject([
      {
        kind: 'step',
        name: 'charge',
        state: 'completed',
        from: 10,
        startedAt: 50,
        to: 80,
        attempt: 3,
        endId: '4',
      },
    ]);
    expect(model.isClosed).toBe(false);
  });

  it('counts the executions of a step', () => {
    const { model } = modelOf(
      ['ACTIVITY_TASK_SCHEDULED', 1, { stepName: 'a' }],
      ['ACTIVITY_TASK_SCHEDULED', 2, { stepName: 'b' }],
      ['ACTIVITY_TASK_SCHEDULED', 3, { stepName: 'a' }],
    );
    expect(model.items.map(({ name, occurrence }) => [name, occurrence])).toEqual([
      ['a', 1],
      ['b', 1],
      ['a', 2],
    ]);
  });

  it('has timers with when they fire, children with where they run, and messages as marks', () => {
    const { model } = modelOf(
      ['TIMER_STARTED', 1_000, { timerId: '1', startToFireTimeout: '1.5s' }],
      [
        'START_CHILD_WORKFLOW_EXECUTION_INITIATED',
        2_000,
        { workflowId: 'c', workflowType: { name: 'small' } },
      ],
      [
        'CHILD_WORKFLOW_EXECUTION_STARTED',
        2_100,
        { initiatedEventId: '2', workflowExecution: { workflowId: 'c', runId: 'r' } },
      ],
      ['WORKFLOW_EXECUTION_SIGNALED', 2_200, { signalName: 'approve' }],
      ['TIMER_CANCELED', 2_300, { startedEventId: '1' }],
      ['CHILD_WORKFLOW_EXECUTION_FAILED', 2_400, { initiatedEventId: '2' }],
    );
    expect(model.items).toMatchObject([
      { kind: 'timer', firesAt: 2_500, state: 'cancelled', to: 2_300 },
      { kind: 'child', name: 'small', state: 'failed', execution: { workflowId: 'c', runId: 'r' } },
      { kind: 'signal', name: 'approve', state: 'noted', from: 2_200, to: 2_200 },
    ]);
  });

  it('knows where the run comes from and what has taken over', () => {
    const { model } = modelOf(
      [
        'WORKFLOW_EXECUTION_STARTED',
        0,
        {
          parentWorkflowExecution: { workflowId: 'p', runId: 'q' },
          continuedExecutionRunId: 'before',
          initiator: 'CONTINUE_AS_NEW',
        },
      ],
      ['WORKFLOW_TASK_FAILED', 5, { cause: 'RESET_WORKFLOW', baseRunId: 'base' }],
      ['WORKFLOW_EXECUTION_CONTINUED_AS_NEW', 9, { newExecutionRunId: 'after' }],
    );
    expect(model.lineage).toEqual({
      parent: { workflowId: 'p', runId: 'q' },
      continuedFrom: 'before',
      initiator: 'CONTINUE_AS_NEW',
      resetFrom: 'base',
      newRunId: 'after',
    });
    expect(model).toMatchObject({ isClosed: true, closedAt: 9 });
  });

  it('has a pause from when it was paused to when it was resumed', () => {
    const { model } = modelOf(
      ['WORKFLOW_EXECUTION_SIGNALED', 10, { signalName: 'perdure.pause' }],
      ['WORKFLOW_EXECUTION_SIGNALED', 20, { signalName: 'perdure.pause' }],
      ['WORKFLOW_EXECUTION_SIGNALED', 30, { signalName: 'perdure.resume' }],
    );
    expect(model.items).toMatchObject([{ kind: 'pause', from: 10, to: 30, state: 'completed' }]);
  });

  it('says in a word what an event is about', () => {
    const { events } = modelOf(
      ['ACTIVITY_TASK_SCHEDULED', 1, { stepName: 'charge' }],
      ['TIMER_STARTED', 2, { timerId: '7' }],
      ['WORKFLOW_TASK_SCHEDULED', 3],
    );
    expect(events.map(subjectOf)).toEqual(['charge', 'timer 7', '']);
  });

  it('leaves nothing under way when the run has ended', () => {
    const { model } = modelOf(
      ['WORKFLOW_EXECUTION_STARTED', 0],
      ['ACTIVITY_TASK_SCHEDULED', 10, { stepName: 'charge', activityId: '1' }],
      ['TIMER_STARTED', 10, { timerId: '1', startToFireTimeout: '60s' }],
      ['WORKFLOW_EXECUTION_TERMINATED', 80, { reason: 'no more' }],
    );
    expect(model.items).toMatchObject([
      { name: 'charge', state: 'left', to: 80, endId: null },
      { name: 'timer', state: 'left', to: 80 },
    ]);
  });
});
