/** What is compared of a run, from its events with what user code gave and threw. */
import type { HistoryEvent } from 'perdure/client';
import { attributesOf, emptyModel, type Item, take } from '../run/model.js';
import type { ComparedStep } from './align.js';

const KINDS = new Set(['step', 'child', 'timer']);

export function stepsOf(events: readonly HistoryEvent[]): ComparedStep[] {
  const model = emptyModel();
  const byId = new Map<string, HistoryEvent>();
  for (const event of events) {
    take(model, event);
    byId.set(event.eventId, event);
  }
  const attributes = (id: string | null): Record<string, unknown> => {
    const event = id === null ? undefined : byId.get(id);
    return event ? attributesOf(event) : {};
  };
  return model.items.filter(({ kind }) => KINDS.has(kind)).map((item) => compared(item, attributes));
}

function compared(item: Item, attributes: (id: string | null) => Record<string, unknown>): ComparedStep {
  const { result, failure } = attributes(item.endId);
  return {
    id: item.id,
    kind: item.kind as ComparedStep['kind'],
    name: item.name,
    state: item.state,
    input: only(attributes(item.id).input),
    output: only(result),
    error: errorOf(failure),
    attempts: item.attempt,
    durationMs: item.to === null ? null : item.to - item.from,
  };
}

/** Payloads are lists; steps and children take and give one value. */
function only(payloads: unknown): unknown {
  return Array.isArray(payloads) && payloads.length < 2 ? payloads[0] : payloads;
}

function errorOf(failure: unknown): ComparedStep['error'] {
  if (typeof failure !== 'object' || failure === null) return null;
  const { type, message } = failure as { type?: unknown; message?: unknown };
  return { name: typeof type === 'string' ? type : 'Error', message: String(message ?? '') };
}
