/**
 * Steps that have not ended, as they are now. A history tells of attempts only once a step has ended, so a step that fails
 * for the twentieth time looks there like one that nobody has begun; what `why` says of it is put on top.
 */
import type { Why, WhyReason } from 'perdure/client';
import type { Item, UnderWay } from './model.js';

const isStep = (reason: WhyReason): reason is UnderWay =>
  reason.code === 'stepQueued' || reason.code === 'stepRunning' || reason.code === 'stepBackingOff';

/** By the id of their activity. */
export function stepsUnderWay(why: Why | undefined): ReadonlyMap<string, UnderWay> {
  return new Map(why?.reasons.filter(isStep).map((reason) => [reason.activityId, reason]));
}

/** The item as it is now; one that has ended, or that nothing is known of, as it was. */
export function asOfNow(item: Item, steps: ReadonlyMap<string, UnderWay>): Item {
  if (item.state !== 'open' || item.activityId === null) return item;
  const underWay = steps.get(item.activityId);
  switch (underWay?.code) {
    case 'stepRunning':
      return { ...item, underWay, attempt: underWay.attempt, startedAt: Date.parse(underWay.startedAt) };
    case 'stepBackingOff':
      return { ...item, underWay, attempt: underWay.attempt };
    case 'stepQueued':
      return { ...item, underWay };
    case undefined:
      return item;
  }
}
