/** One line for each step: what became of it, with how many attempts, in what time. In and out open beside it. */
import { useVirtualizer } from '@tanstack/react-virtual';
import { useMemo, useRef } from 'react';
import { Empty } from '../components/Empty.js';
import { Icon } from '../components/Icon.js';
import { Time, Took } from '../components/Time.js';
import type { Shown } from './history.js';
import { type Item, itemName, KINDS, stateClass, stateIcon, stateName } from './items.js';
import { type Ref, useStepsUnderWay } from './queries.js';
import { asOfNow } from './under-way.js';

const ROW_PX = 34;

export function StepsView({
  run,
  history: { model, version },
  open,
  onOpen,
}: {
  run: Ref;
  history: Shown;
  open: string | undefined;
  onOpen(id: string): void;
}) {
  const scroller = useRef<HTMLDivElement>(null);
  const underWay = useStepsUnderWay(run);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the model grows in place, and its version says so
  const steps = useMemo(
    () => model.items.filter(({ kind }) => kind === 'step' || kind === 'child'),
    [model, version],
  );
  const rows = useVirtualizer({
    count: steps.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: 12,
  });
  if (version > 0 && steps.length === 0) return <Empty title="No step or child yet" />;
  return (
    <div className="lines" ref={scroller}>
      <ul style={{ height: rows.getTotalSize() }} aria-label="Steps">
        {rows.getVirtualItems().map(({ index, start }) => {
          const item = asOfNow(steps[index]!, underWay);
          return (
            <li key={item.id} style={{ transform: `translateY(${start}px)`, height: ROW_PX }}>
              <button
                type="button"
                className="line-row step-row"
                data-item={item.id}
                aria-expanded={open === item.id}
                onClick={() => onOpen(item.id)}
              >
                <span className={`state ${stateClass(item.state)}`}>
                  <Icon name={stateIcon(item)} />
                  {stateName(item)}
                </span>
                <span className="step-name cut">
                  {item.kind !== 'step' && <span className="muted">{KINDS[item.kind].name} </span>}
                  {itemName(item)}
                </span>
                <span className="step-attempts muted">{attemptsInWords(item)}</span>
                <span className="step-took">
                  <Took from={item.startedAt ?? item.from} to={item.to} />
                </span>
                <span className="step-at muted">
                  <Time at={item.from} />
                </span>
              </button>
            </li>
          );
        })}
      </ul>
    </div>
  );
}

/** How many were made; of a step that is to be tried again, one less than the number of the next. */
function attemptsInWords({ attempt, underWay }: Item): string {
  const made = underWay?.code === 'stepBackingOff' ? attempt - 1 : attempt;
  if (underWay?.code === 'stepBackingOff') return made === 1 ? '1 attempt failed' : `${made} attempts failed`;
  return made > 1 ? `${made} attempts` : '';
}
