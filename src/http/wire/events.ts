/** History pages and workflow metadata as they look on the wire. */
import {
  ATTRIBUTES_KEYS,
  isoTime,
  isStepEvent,
  type NamedStep,
  type NamedSteps,
  type WireEvent,
  wireEvent,
} from '../../core/history/wire-event.js';
import type { Engine, HistoryPage, RunDescription, RunRef } from '../../engine.js';

export { ATTRIBUTES_KEYS, type NamedStep, type NamedSteps, type WireEvent, wireEvent };

/**
 * Adds to `steps` those that `events` refer to, and answers with it. Only the scheduled event of a step names it, so
 * the ones that came on an earlier page are read again, unless the engine has told them with this one.
 */
export async function nameSteps(
  engine: Pick<Engine, 'history'>,
  run: RunRef,
  { events, steps: known }: Pick<HistoryPage, 'events' | 'steps'>,
  steps: NamedSteps = new Map(),
): Promise<NamedSteps> {
  for (const [id, step] of known ?? []) steps.set(id, nameOf(step));
  const missing = new Set<number>();
  for (const event of events) {
    if (event.type === 'ACTIVITY_TASK_SCHEDULED') steps.set(event.id, nameOf(event.attributes));
    else if (isStepEvent(event)) {
      const { scheduledEventId } = event.attributes;
      if (!steps.has(scheduledEventId)) missing.add(scheduledEventId);
    }
  }
  const ids = [...missing].sort((a, b) => a - b);
  for (let i = 0; i < ids.length; ) {
    const first = ids[i]!;
    // Steps that were scheduled together stand close together, so they are read together.
    let last = first;
    while (i < ids.length && ids[i]! < first + READ_TOGETHER) last = ids[i++]!;
    const page = await engine.history(run, { afterEventId: first - 1, limit: last - first + 1 });
    for (const event of page.events) {
      if (event.type === 'ACTIVITY_TASK_SCHEDULED') steps.set(event.id, nameOf(event.attributes));
    }
  }
  return steps;
}

const READ_TOGETHER = 100;

/** Workflow metadata, of history pages and the stream. */
export function workflowMetadata(run: Omit<RunDescription, 'input' | 'firstRunId'>): object {
  const { workflowId, runId, status, startedAt, completedAt, historyLength, catalog } = run;
  return {
    workflowId,
    runId,
    status,
    startTime: isoTime(startedAt),
    closeTime: completedAt === null ? null : isoTime(completedAt),
    historyLength,
    taskQueue: catalog,
  };
}

function nameOf({ activityType, stepName }: NamedStep): NamedStep {
  return { activityType, stepName };
}
