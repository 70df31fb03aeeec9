/**
 * What runs do to others arrives: after every commit a message has been answered, or it is on disk that it is on its way, or its
 * sender has closed and its target has heard. The same of the children that a reset has cut off, which end.
 */
import type { HistoryEvent } from '../../src/core/history/event.js';
import type { Tables } from '../../src/embedded/store/tables/tables.js';
import { type RecordedChild, type RunRecord, sendingOf, Violation } from './run-record.js';
import type { MessageInput } from './virtual-run.js';

interface Sending {
  record: RunRecord;
  eventId: number;
  workflowId: string;
  hasArrivedAt(target: RunRecord): boolean;
}

export class Sendings {
  readonly #open = new Map<string, Sending>();

  constructor(private readonly openRun: (workflowId: string) => RunRecord | undefined) {}

  recorded(record: RunRecord, events: readonly HistoryEvent[]): void {
    for (const event of events) {
      if (event.id <= record.copiedUpTo) continue;
      switch (event.type) {
        case 'SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED': {
          const sending = sendingOf(JSON.parse(event.attributes.input[0]!) as MessageInput);
          const { workflowId } = event.attributes;
          this.#add({
            record,
            eventId: event.id,
            workflowId,
            hasArrivedAt: (target) => target.hasSignal(sending),
          });
          break;
        }
        case 'REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED': {
          const { workflowId } = event.attributes;
          this.#add({
            record,
            eventId: event.id,
            workflowId,
            hasArrivedAt: (target) => target.hasCancelRequest(),
          });
          break;
        }
        case 'EXTERNAL_WORKFLOW_EXECUTION_SIGNALED':
        case 'SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_FAILED':
        case 'EXTERNAL_WORKFLOW_EXECUTION_CANCEL_REQUESTED':
        case 'REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_FAILED':
          this.#open.delete(keyOf(record, event.attributes.initiatedEventId));
          break;
        default:
      }
    }
  }

  /** The run was reset, and goes on without these children. */
  cutOff(record: RunRecord, children: readonly RecordedChild[]): void {
    for (const { initiatedEventId: eventId, workflowId, runId } of children) {
      const hasArrivedAt = (target: RunRecord) => target.started.firstExecutionRunId !== runId;
      this.#add({ record, eventId, workflowId, hasArrivedAt });
    }
  }

  check(tables: Tables): void {
    if (this.#open.size === 0) return;
    const onTheirWay = tables.outbox.all();
    for (const [key, { record, eventId, workflowId, hasArrivedAt }] of this.#open) {
      if (onTheirWay.get(record.key)?.includes(eventId)) continue;
      if (!record.closed) {
        throw new Violation(
          `I11: event ${eventId} of run ${record.runId} has no answer and is not on its way`,
        );
      }
      this.#open.delete(key);
      const target = workflowId === record.started.workflowId ? undefined : this.openRun(workflowId);
      if (target && !hasArrivedAt(target))
        throw new Violation(`I11: "${workflowId}" has not heard of event ${eventId} of run ${record.runId}`);
    }
  }

  #add(sending: Sending): void {
    this.#open.set(keyOf(sending.record, sending.eventId), sending);
  }
}

const keyOf = ({ runId }: RunRecord, eventId: number): string => `${runId}/${eventId}`;
