/**
 * Events as they stand in a row of the history. Owns their form on disk, which is also what most of a commit writes:
 * `[2, instant, event, event, …]`, each event `[milliseconds since the one before, number of its type, …]` and then its
 * attributes, or less where it has a short form (brief-events.ts). Its own number follows from that of the row's last one.
 *
 * 1. What was written once can be read for ever: a change of the form is a further form.
 * 2. A row is bounded in events and in size, whatever one commit has to store.
 * 3. Step settings that are usual are left out. That is a part of the form, not the default of the day.
 */
import { EVENT_TYPES, type EventTypeName, type HistoryEvent } from '../../core/history/event.js';
import { invariant } from '../../core/invariant.js';
import {
  type BriefEvent,
  briefAttributes,
  briefText,
  hasUsualSettings,
  TYPE_TEXT,
  USUAL_SETTINGS,
} from './brief-events.js';

type Attributes = HistoryEvent['attributes'];

/** The first element of a row in this form. */
const FORM = 2;
const BEFORE_EVENTS = 2;
type Row = [form: typeof FORM, at: number, ...events: StoredEvent[]];
type StoredEvent = [later: number, type: number, Attributes] | BriefEvent;

/** The forms before: each event with its instant and its attributes, and before that each as it is in memory. */
type OldRow = ([at: number, type: number, attributes: Attributes] | HistoryEvent)[];

const NAMES = new Map<number, EventTypeName>(
  Object.entries(EVENT_TYPES).map(([name, number]) => [number, name as EventTypeName]),
);

/** Events in one row, so that a page of a long history reads no more than it needs. */
const MAX_EVENTS = 500;

/** Characters after which a row ends: rows stay small beside the longest text that JavaScript can make. */
const MAX_LENGTH = 1024 * 1024;

export interface Piece {
  lastEventId: number;
  text: string;
}

/** The rows that hold the events. Put together by hand: JSON.stringify takes twice the time for many small values. */
export function encodeEvents(events: readonly HistoryEvent[]): Piece[] {
  const pieces: Piece[] = [];
  let text = '';
  let count = 0;
  let at = 0;
  for (const event of events) {
    if (count === 0) {
      at = event.at;
      text = `[${FORM},${at}`;
    }
    // Most events of a commit are of one instant.
    const later = event.at === at ? ',[0,' : `,[${event.at - at},`;
    at = event.at;
    text += `${later}${briefText(event) ?? wholeText(event)}]`;
    count++;
    if (count >= MAX_EVENTS || text.length >= MAX_LENGTH) {
      pieces.push({ lastEventId: event.id, text: `${text}]` });
      count = 0;
    }
  }
  if (count > 0) pieces.push({ lastEventId: events[events.length - 1]!.id, text: `${text}]` });
  return pieces;
}

const wholeText = (event: HistoryEvent): string =>
  `${TYPE_TEXT[event.type]},${JSON.stringify(storedAttributes(event))}`;

function storedAttributes({ type, attributes }: HistoryEvent): object {
  if (type !== 'ACTIVITY_TASK_SCHEDULED' || !hasUsualSettings(attributes.settings)) return attributes;
  const { activityId, activityType, stepName, input, handedOut, countsFrom } = attributes;
  return { activityId, activityType, stepName, input, handedOut, countsFrom };
}

export function decodeEvents({ text, lastEventId }: Piece): HistoryEvent[] {
  const row = JSON.parse(text) as Row | OldRow;
  if (row[0] !== FORM) return decodeOld(row as OldRow, lastEventId);
  return decodeRow(row as Row, lastEventId);
}

/** Without a list of its own for anything: long histories are read while others wait. */
function decodeRow(row: Row, lastEventId: number): HistoryEvent[] {
  const count = row.length - BEFORE_EVENTS;
  const events: HistoryEvent[] = [];
  let at = row[1];
  for (let index = 0; index < count; index++) {
    const id = lastEventId - count + index + 1;
    const stored = row[index + BEFORE_EVENTS] as StoredEvent;
    at += stored[0];
    const attributes = typeof stored[2] === 'object' ? stored[2] : briefAttributes(id, stored as BriefEvent);
    events.push(decoded(id, at, stored[1], attributes));
  }
  return events;
}

function decodeOld(stored: OldRow, lastEventId: number): HistoryEvent[] {
  const first = lastEventId - stored.length + 1;
  return stored.map((each, index) => {
    if (!Array.isArray(each)) return each;
    const [at, type, attributes] = each;
    return decoded(first + index, at, type, attributes);
  });
}

function decoded(id: number, at: number, number: number, attributes: Attributes | undefined): HistoryEvent {
  const type = NAMES.get(number);
  invariant(type && attributes, `event ${id} is of a type ${number} or form that is not known`);
  const event = { id, at, type, attributes } as HistoryEvent;
  if (event.type === 'ACTIVITY_TASK_SCHEDULED') event.attributes.settings ??= USUAL_SETTINGS;
  return event;
}
