/** Every event of the history, as many as there are: only those on the screen are drawn. */
import type { HistoryEvent } from 'perdure/client';
import { useDeferredValue, useEffect, useMemo, useRef, useState } from 'react';
import { zone } from '../app/settings.js';
import { useStore } from '../app/store.js';
import { Empty } from '../components/Empty.js';
import { legible } from '../components/legible.js';
import { useLines } from '../components/lines.js';
import { duration, exact } from '../components/times.js';
import type { Shown } from './history.js';
import { attributesOf, subjectOf } from './model.js';

const ROW_PX = 30;

export function EventsView({
  history,
  open,
  onOpen,
}: {
  history: Shown;
  open: string | undefined;
  onOpen(id: string): void;
}) {
  const { events, version, expected, model } = history;
  const [text, setText] = useState('');
  const found = useFound(events, version, useDeferredValue(text.trim().toLowerCase()));
  const inZone = useStore(zone);
  const lines = useLines(found.length, { rowPx: ROW_PX, overscan: 20 });
  const { rows } = lines;
  // An address that names an event leads to it, once it is there.
  const wanted = useRef(open);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only as events come
  useEffect(() => {
    const index = found.findIndex(({ eventId }) => eventId === wanted.current);
    if (index === -1) return;
    wanted.current = undefined;
    rows.scrollToIndex(index, { align: 'center' });
  }, [found]);

  return (
    <div className="events">
      <div className="timeline-tools">
        <input
          className="input"
          type="search"
          placeholder="Type, step, signal, id …"
          aria-label="Search within the events"
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        {/* How many there are by now is nothing to interrupt anybody with. */}
        <span className="muted" role="status" aria-live={text ? undefined : 'off'}>
          {text ? `${found.length.toLocaleString('en')} of ` : ''}
          {version.toLocaleString('en')}
          {version < expected ? ` of ${expected.toLocaleString('en')} read` : ''} events
        </span>
      </div>
      {text && found.length === 0 ? (
        <Empty title="No event fits">
          <p>
            Types, names and ids are searched; what steps were given and returned is read when an event is
            opened.
          </p>
        </Empty>
      ) : (
        // biome-ignore lint/a11y/noStaticElementInteractions: the keys are those of the rows inside
        <div className="lines" ref={lines.scroller} onKeyDown={lines.onKeyDown}>
          <ol style={{ height: rows.getTotalSize() }} aria-label="Events">
            {rows.getVirtualItems().map(({ index, start }) => {
              const event = found[index]!;
              const at = Date.parse(event.eventTime);
              return (
                <li key={event.eventId} style={{ transform: `translateY(${start}px)`, height: ROW_PX }}>
                  <button
                    type="button"
                    className="line-row event-row"
                    data-event={event.eventId}
                    data-index={index}
                    tabIndex={lines.isReached(index) ? 0 : -1}
                    onFocus={() => lines.onReach(index)}
                    aria-expanded={open === event.eventId}
                    onClick={() => onOpen(event.eventId)}
                  >
                    <span className="event-id muted">{event.eventId}</span>
                    <span className="event-at muted" title={exact(at, inZone)}>
                      +{duration(at - (model.startedAt ?? at))}
                    </span>
                    <span className={`event-type cut ${toneOf(event)}`}>{eventName(event)}</span>
                    <span className="event-subject cut">{legible(subjectOf(event))}</span>
                  </button>
                </li>
              );
            })}
          </ol>
        </div>
      )}
    </div>
  );
}

/** `ACTIVITY_TASK_SCHEDULED` as people read: it is the API's word still. */
export function eventName({ eventTypeName }: HistoryEvent): string {
  const text = eventTypeName.toLowerCase().replaceAll('_', ' ');
  return text[0]!.toUpperCase() + text.slice(1);
}

function toneOf({ eventTypeName }: HistoryEvent): string {
  if (/_(FAILED|TIMED_OUT)$/.test(eventTypeName)) return 'state-failed';
  if (/_(CANCELED|TERMINATED)$/.test(eventTypeName)) return 'state-cancelled';
  return eventTypeName.startsWith('WORKFLOW_TASK_') ? 'muted' : '';
}

/** Texts to search in are made once for each event, when somebody searches. */
const texts = new WeakMap<HistoryEvent, string>();

function textOf(event: HistoryEvent): string {
  let text = texts.get(event);
  if (text === undefined) {
    const values = JSON.stringify(attributesOf(event));
    text = `${event.eventId} ${event.eventTypeName} ${eventName(event)} ${values}`.toLowerCase();
    texts.set(event, text);
  }
  return text;
}

function useFound(events: readonly HistoryEvent[], version: number, text: string): readonly HistoryEvent[] {
  return useMemo(
    () => (text === '' ? events.slice(0, version) : events.filter((event) => textOf(event).includes(text))),
    [events, version, text],
  );
}
