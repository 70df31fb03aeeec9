/**
 * Messages and other instants, on one line. Those that would lie on each other are drawn as one, and a name is cut off where the
 * next one begins. Near the end the name stands before its sign.
 */
import type { CSSProperties } from 'react';
import { Icon } from '../../components/Icon.js';
import { legible } from '../../components/legible.js';
import { duration } from '../../components/times.js';
import { type Item, KINDS } from '../items.js';
import type { TimeScale } from './time-scale.js';
import type { Zoom } from './zoom.js';

/** Of what is in sight, on a wide track and on a narrow one: the width of a sign, and of a name that is not very long. */
const WIDE = { sign: 0.024, name: 0.12 };
const NARROW = { sign: 0.12, name: 0.4 };

/** What stands at an end of what is in sight is in sight, however that was reckoned. */
const EDGE = 0.001;

interface Group {
  at: number;
  items: Item[];
}

export function Marks({
  marks,
  scale,
  zoom,
  isNarrow,
  open,
  onOpen,
}: {
  marks: Item[];
  scale: TimeScale;
  zoom: Zoom;
  isNarrow: boolean;
  open: string | undefined;
  onOpen(id: string): void;
}) {
  const room = isNarrow ? NARROW : WIDE;
  const groups: Group[] = [];
  for (const item of marks) {
    const at = zoom.at(scale.at(item.from));
    if (at < -EDGE || at > 1 + EDGE) continue;
    const last = groups.at(-1);
    if (last && at - last.at < room.sign) last.items.push(item);
    else groups.push({ at, items: [item] });
  }
  const isLate = ({ at }: Group) => at > 1 - room.name;
  return (
    <div className="timeline-marks">
      <span className="timeline-label">
        <Icon name="signal" />
        <span className="cut">messages</span>
      </span>
      <span className="timeline-track">
        {groups.map((group, index) => {
          const { items } = group;
          const [first] = items;
          const late = isLate(group);
          const names = [...new Set(items.map(({ name }) => legible(name)))].slice(0, 3).join(', ');
          const words = `${items.length > 1 ? `${items.length} × ` : ''}${KINDS[first!.kind].name} ${names}, ${duration(first!.from - scale.start)} after the start`;
          return (
            <button
              key={first!.id}
              type="button"
              className={`mark ${late ? 'is-late' : ''}`}
              data-item={first!.id}
              style={place(group, late ? groups[index - 1] : groups[index + 1], isLate)}
              aria-label={words}
              title={words}
              aria-expanded={items.some(({ id }) => id === open)}
              onClick={() => onOpen(first!.id)}
            >
              <Icon name={KINDS[first!.kind].icon} />
              <span className="mark-name cut">{items.length > 1 ? items.length : legible(first!.name)}</span>
            </button>
          );
        })}
      </span>
    </div>
  );
}

/** From its instant on, or up to it; with half the way to a neighbour whose name comes towards it. */
function place(group: Group, neighbour: Group | undefined, isLate: (group: Group) => boolean): CSSProperties {
  const late = isLate(group);
  const share = neighbour && isLate(neighbour) !== late ? 0.5 : 1;
  const width = neighbour ? Math.abs(neighbour.at - group.at) * share : 1;
  const maxWidth = `${width * 100}%`;
  return late ? { right: `${(1 - group.at) * 100}%`, maxWidth } : { left: `${group.at * 100}%`, maxWidth };
}
