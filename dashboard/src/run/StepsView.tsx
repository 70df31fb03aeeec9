/** One line for each step: what became of it, with how many attempts, for how much, in what time. In and out open beside it. */
import { useQuery } from '@tanstack/react-query';
import type { StatusRecord } from 'perdure/client';
import { useMemo } from 'react';
import { Empty } from '../components/Empty.js';
import { Icon } from '../components/Icon.js';
import { useLines } from '../components/lines.js';
import { Time, Took } from '../components/Time.js';
import type { Shown } from './history.js';
import { attemptsMade, type Item, itemName, KINDS, stateClass, stateIcon, stateName } from './items.js';
import { ASK_COSTS_EVERY_MS, stepCostsQuery, useStepsUnderWay } from './queries.js';
import { asOfNow } from './under-way.js';

const ROW_PX = 34;

export function StepsView({
  run,
  history: { model, version, expected },
  open,
  onOpen,
}: {
  run: StatusRecord;
  history: Shown;
  open: string | undefined;
  onOpen(id: string): void;
}) {
  const underWay = useStepsUnderWay(run);
  const { data: costs } = useQuery({
    ...stepCostsQuery(run),
    refetchInterval: run.status === 'running' ? ASK_COSTS_EVERY_MS : false,
    retry: false,
  });
  const hasCosts = costs !== undefined && costs.size > 0;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the model grows in place, and its version says so
  const steps = useMemo(
    () => model.items.filter(({ kind }) => kind === 'step' || kind === 'child'),
    [model, version],
  );
  const { scroller, rows, onKeyDown, onReach, isReached } = useLines(steps.length, { rowPx: ROW_PX });
  if (version > 0 && version >= expected && steps.length === 0) {
    return (
      <Empty title={run.status === 'running' ? 'No step or child yet' : 'It had no step and no child'} />
    );
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the keys are those of the rows inside
    <div className="lines" ref={scroller} onKeyDown={onKeyDown}>
      <ul style={{ height: rows.getTotalSize() }} aria-label="Steps">
        {rows.getVirtualItems().map(({ index, start }) => {
          const item = asOfNow(steps[index]!, underWay);
          return (
            <li key={item.id} style={{ transform: `translateY(${start}px)`, height: ROW_PX }}>
              <button
                type="button"
                className={`line-row step-row ${hasCosts ? 'has-cost' : ''}`}
                data-item={item.id}
                data-index={index}
                tabIndex={isReached(index) ? 0 : -1}
                onFocus={() => onReach(index)}
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
                {hasCosts && (
                  <span className="step-cost cut">
                    {item.activityId === null ? '' : costs.get(item.activityId)}
                  </span>
                )}
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

function attemptsInWords(item: Item): string {
  const made = attemptsMade(item);
  if (item.underWay?.code === 'stepBackingOff')
    return made === 1 ? '1 attempt failed' : `${made} attempts failed`;
  return made > 1 ? `${made} attempts` : '';
}
