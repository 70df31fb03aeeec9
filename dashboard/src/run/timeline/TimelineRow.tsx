import { type CSSProperties, memo } from 'react';
import { Icon } from '../../components/Icon.js';
import { duration } from '../../components/times.js';
import {
  attemptsMade,
  type Item,
  itemInWords,
  itemName,
  KINDS,
  stateClass,
  stateIcon,
  stateInWords,
} from '../items.js';
import type { TimeScale } from './time-scale.js';
import type { Zoom } from './zoom.js';

interface Props {
  item: Item;
  index: number;
  top: number;
  height: number;
  scale: TimeScale;
  zoom: Zoom;
  isNarrow: boolean;
  isOpen: boolean;
  onOpen(id: string): void;
  /** Whether Tab leads to it. */
  isReached: boolean;
  onReach(index: number): void;
  /** Changes while the bar grows. */
  version: number;
}

export const TimelineRow = memo(function TimelineRow({
  item,
  index,
  top,
  height,
  scale,
  zoom,
  isNarrow,
  isOpen,
  onOpen,
  isReached,
  onReach,
}: Props) {
  const { from, startedAt, to, attempt, kind, state, firesAt } = item;
  const end = to ?? scale.end;
  const room = isNarrow ? NARROW_ROOM : ROOM;
  const begun = startedAt ?? (state === 'open' && kind !== 'step' ? from : null);
  const place = (start: number, stop: number) => {
    const left = zoom.at(scale.at(start));
    return { left: `${left * 100}%`, width: `${Math.max(0, zoom.at(scale.at(stop)) - left) * 100}%` };
  };
  const seenFrom = zoom.at(scale.at(from));
  const seenTo = zoom.at(scale.at(end));
  const words = itemInWords(item, scale.end);
  return (
    <li className="timeline-item" style={{ transform: `translateY(${top}px)`, height }}>
      <button
        type="button"
        className={`timeline-row ${stateClass(state)}`}
        data-item={item.id}
        data-index={index}
        tabIndex={isReached ? 0 : -1}
        onFocus={() => onReach(index)}
        aria-expanded={isOpen}
        title={words}
        onClick={() => onOpen(item.id)}
      >
        <span className="timeline-label">
          <Icon name={kind === 'step' ? stateIcon(item) : KINDS[kind].icon} />
          <span className="cut">
            <span className="unseen">{KINDS[kind].name} </span>
            {itemName(item)}
            <span className="unseen">, {stateInWords(item)},</span>
          </span>
          {attemptsMade(item) > 1 && <span className="attempts">×{attemptsMade(item)}</span>}
        </span>
        <span className="timeline-track">
          {/* Until the attempt that counts: it waited for a worker, or attempts before it failed. */}
          {(begun === null || begun > from) && (
            <span
              className={`bar bar-before ${attempt > 1 ? 'has-failed' : ''}`}
              style={place(from, begun ?? end)}
            />
          )}
          {begun !== null && (
            <span className={`bar bar-${kind} ${to === null ? 'is-open' : ''}`} style={place(begun, end)} />
          )}
          <span className="bar-text" style={textPlace(seenFrom, seenTo, room)}>
            {/* A text without a bar says at which side that is. */}
            {seenTo < 0 && '‹ '}
            {to === null && firesAt !== null ? 'waits' : duration(end - (startedAt ?? from))}
            {seenFrom > 1 && ' ›'}
          </span>
        </span>
      </button>
    </li>
  );
});

/** Of the track: room for a text such as `12 min 30 s`, on a wide one and on a narrow one. */
const ROOM = 0.12;
const NARROW_ROOM = 0.35;

/** Behind the bar where there is room, else before it, else at the right end of what is in sight. */
function textPlace(from: number, to: number, room: number): CSSProperties {
  if (to <= 1 - room) return { left: `${Math.max(0, to) * 100}%` };
  if (from >= room) return { right: `${Math.max(0, 1 - from) * 100}%` };
  return { right: 0 };
}
