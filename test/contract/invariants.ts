/** What holds in every history, whatever the run did; a case that breaks one is told which. */
import { CLOSE_EVENTS, type EventTypeName, type HistoryEvent } from '../../src/core/history/event.js';

const STEP_ENDS: ReadonlySet<EventTypeName> = new Set<EventTypeName>([
  'ACTIVITY_TASK_COMPLETED',
  'ACTIVITY_TASK_FAILED',
  'ACTIVITY_TASK_TIMED_OUT',
  'ACTIVITY_TASK_CANCELED',
]);
const CHILD_ENDS: ReadonlySet<EventTypeName> = new Set<EventTypeName>([
  'START_CHILD_WORKFLOW_EXECUTION_FAILED',
  'CHILD_WORKFLOW_EXECUTION_COMPLETED',
  'CHILD_WORKFLOW_EXECUTION_FAILED',
  'CHILD_WORKFLOW_EXECUTION_CANCELED',
  'CHILD_WORKFLOW_EXECUTION_TIMED_OUT',
  'CHILD_WORKFLOW_EXECUTION_TERMINATED',
]);

/** The rules that `events` break, in words. */
export function brokenRules(events: readonly HistoryEvent[]): string[] {
  const broken: string[] = [];
  const rule = (holds: boolean, text: string) => {
    if (!holds) broken.push(text);
  };
  const ended = new Set<string>();
  const endsOnce = (what: string, id: unknown, event: HistoryEvent) => {
    const key = `${what} ${id}`;
    rule(!ended.has(key), `event ${event.id} (${event.type}) ends ${key} a second time`);
    ended.add(key);
  };
  const byId = new Map(events.map((event) => [event.id, event]));
  const refersTo = (event: HistoryEvent, id: number, type: EventTypeName) =>
    rule(
      byId.get(id)?.type === type && id < event.id,
      `event ${event.id} refers to ${id}, which is no ${type}`,
    );

  rule(events[0]?.type === 'WORKFLOW_EXECUTION_STARTED', 'the first event is not the start');
  events.forEach((event, index) => {
    rule(event.id === index + 1, `event ${event.id} stands at place ${index + 1}`);
    rule(
      index === 0 || event.at >= events[index - 1]!.at,
      `event ${event.id} is older than the one before it`,
    );
    rule(!CLOSE_EVENTS.has(event.type) || index === events.length - 1, `${event.type} is not the last event`);
    switch (event.type) {
      case 'TIMER_FIRED':
      case 'TIMER_CANCELED': {
        const { startedEventId, timerId } = event.attributes;
        // By the event that started it: an id may be used again afterwards.
        endsOnce('timer', startedEventId, event);
        refersTo(event, startedEventId, 'TIMER_STARTED');
        const started = byId.get(startedEventId);
        if (event.type === 'TIMER_FIRED' && started?.type === 'TIMER_STARTED') {
          const { startToFireTimeoutMs, countsFrom = started.at } = started.attributes;
          const waitedMs = event.at - countsFrom;
          rule(waitedMs >= startToFireTimeoutMs, `timer ${timerId} fired after ${waitedMs} ms`);
        }
        break;
      }
      case 'WORKFLOW_TASK_COMPLETED':
        refersTo(event, event.attributes.scheduledEventId, 'WORKFLOW_TASK_SCHEDULED');
        refersTo(event, event.attributes.startedEventId, 'WORKFLOW_TASK_STARTED');
        break;
      case 'WORKFLOW_EXECUTION_UPDATE_COMPLETED':
        endsOnce('update', event.attributes.updateId, event);
        refersTo(event, event.attributes.acceptedEventId, 'WORKFLOW_EXECUTION_UPDATE_ACCEPTED');
        break;
      default:
        if (STEP_ENDS.has(event.type)) {
          const { scheduledEventId } = event.attributes as { scheduledEventId: number };
          endsOnce('step', scheduledEventId, event);
          refersTo(event, scheduledEventId, 'ACTIVITY_TASK_SCHEDULED');
        }
        if (CHILD_ENDS.has(event.type)) {
          const { initiatedEventId } = event.attributes as { initiatedEventId: number };
          endsOnce('child', initiatedEventId, event);
          refersTo(event, initiatedEventId, 'START_CHILD_WORKFLOW_EXECUTION_INITIATED');
        }
    }
  });
  return broken;
}
