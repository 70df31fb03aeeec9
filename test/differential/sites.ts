/** Which statement of the program the events of a history belong to. */
import type { HistoryEvent } from '../../src/core/history/event.js';
import type { Numbering } from './numbering.js';
import { siteIn } from './run-view.js';

export class Sites {
  readonly #byEventId = new Map<number, number | undefined>();
  readonly #children = new Map<string, number | undefined>();

  constructor(
    events: readonly HistoryEvent[],
    private readonly numbering: Numbering,
  ) {
    for (const event of events) {
      const site = this.#origin(event);
      this.#byEventId.set(event.id, site);
      if (event.type === 'START_CHILD_WORKFLOW_EXECUTION_INITIATED') {
        this.#children.set(event.attributes.workflowId, site);
      }
    }
  }

  of(event: HistoryEvent): number | undefined {
    return this.#byEventId.get(event.id);
  }

  #origin(event: HistoryEvent): number | undefined {
    switch (event.type) {
      case 'ACTIVITY_TASK_SCHEDULED':
      case 'START_CHILD_WORKFLOW_EXECUTION_INITIATED':
      case 'SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED':
        return siteIn(event.attributes.input);
      case 'TIMER_STARTED':
        return this.numbering.siteOfTimer(event.attributes.startToFireTimeoutMs);
      case 'MARKER_RECORDED':
        return Number(event.attributes.details.patchId.slice(1));
      case 'REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED': {
        const { childInitiatedEventId, workflowId } = event.attributes;
        if (childInitiatedEventId !== undefined) return this.#byEventId.get(childInitiatedEventId);
        const named = /\/(\d+)-nobody$/.exec(workflowId);
        return named ? Number(named[1]) : this.#children.get(workflowId);
      }
      default: {
        const attributes = event.attributes as Record<string, unknown>;
        for (const key of ['scheduledEventId', 'initiatedEventId', 'startedEventId', 'acceptedEventId']) {
          const id = attributes[key];
          if (typeof id === 'number' && id > 0) return this.#byEventId.get(id);
        }
        return undefined;
      }
    }
  }
}
