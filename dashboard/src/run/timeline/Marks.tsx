/** Messages and other instants, on one line. Those that would lie on each other are drawn as one. */
import { Icon } from '../../components/Icon.js';
import { legible } from '../../components/legible.js';
import { duration } from '../../components/times.js';
import { type Item, KINDS } from '../items.js';
import type { TimeScale } from './time-scale.js';
import type { Zoom } from './zoom.js';

/** Of what is in sight. */
const CLOSE = 0.012;

interface Group {
  at: number;
  items: Item[];
}

export function Marks({
  marks,
  scale,
  zoom,
  open,
  onOpen,
}: {
  marks: Item[];
  scale: TimeScale;
  zoom: Zoom;
  open: string | undefined;
  onOpen(id: string): void;
}) {
  const groups: Group[] = [];
  for (const item of marks) {
    const at = zoom.at(scale.at(item.from));
    if (at < -CLOSE || at > 1 + CLOSE) continue;
    const last = groups.at(-1);
    if (last && at - last.at < CLOSE) last.items.push(item);
    else groups.push({ at, items: [item] });
  }
  return (
    <div className="timeline-marks">
      <span className="timeline-label">
        <Icon name="signal" />
        <span className="cut">messages</span>
      </span>
      <span className="timeline-track">
        {groups.map(({ at, items }) => {
          const [first] = items;
          const names = [...new Set(items.map(({ name }) => legible(name)))].slice(0, 3).join(', ');
          const words = `${items.length > 1 ? `${items.length} × ` : ''}${KINDS[first!.kind].name} ${names}, ${duration(first!.from - scale.start)} after the start`;
          return (
            <button
              key={first!.id}
              type="button"
              className="mark"
              style={{ left: `${Math.min(1, Math.max(0, at)) * 100}%` }}
              aria-label={words}
              title={words}
              aria-expanded={items.some(({ id }) => id === open)}
              onClick={() => onOpen(first!.id)}
            >
              <Icon name={KINDS[first!.kind].icon} />
              <span className="mark-name">{items.length > 1 ? items.length : legible(first!.name)}</span>
            </button>
          );
        })}
      </span>
    </div>
  );
}
