/**
 * Temporal's history events as the embedded engine would have written them. Pure.
 *
 * Every event becomes one event with its number, so that a history stays dense. What is in it, by type, is in
 * attributes.ts.
 */
import { EVENT_TYPES, type EventTypeName, type HistoryEvent } from '../../core/history/event.js';
import { ATTRIBUTES, type Translate } from './attributes.js';
import type { OpenSteps } from './open-steps.js';
import type { ProtoEvent } from './proto.js';
import { instant, int } from './proto.js';
import { asRecorded } from './recorded.js';

export type { ProtoEvent } from './proto.js';

export function eventFromProto(proto: ProtoEvent, steps: OpenSteps): HistoryEvent {
  const id = int(proto.eventId);
  const type = NAMES.get(proto.eventType ?? 0) ?? 'UNSPECIFIED';
  const found = (proto as Record<string, unknown>)[ATTRIBUTES_KEYS[type]] ?? {};
  const translate = (ATTRIBUTES as Partial<Record<EventTypeName, Translate<never, object>>>)[type];
  const attributes = translate ? translate(found as never, { id, steps }) : { asRecorded: asRecorded(found) };
  return { id, at: instant(proto.eventTime), type, attributes } as HistoryEvent;
}

const NAMES = new Map(
  Object.entries(EVENT_TYPES).map(([name, number]) => [number as number, name as EventTypeName]),
);

const ATTRIBUTES_KEYS = Object.fromEntries(
  Object.keys(EVENT_TYPES).map((name) => [
    name,
    `${name.toLowerCase().replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())}EventAttributes`,
  ]),
) as Record<EventTypeName, string>;
