/** How the parts of a run are called and shown. */
import type { IconName } from '../components/Icon.js';
import { legible } from '../components/legible.js';
import { duration } from '../components/times.js';
import type { Item, ItemKind, ItemState } from './model.js';

export type { Item } from './model.js';

export const isMark = ({ kind }: Item): boolean => kind === 'signal' || kind === 'mark';

export const ITEM_STATES: Record<ItemState, string> = {
  open: 'under way',
  completed: 'completed',
  failed: 'failed',
  timed_out: 'timed out',
  cancelled: 'cancelled',
  terminated: 'terminated',
  noted: 'recorded',
  left: 'not ended',
};

export const KINDS: Record<ItemKind, { name: string; icon: IconName }> = {
  step: { name: 'Step', icon: 'play' },
  timer: { name: 'Timer', icon: 'clock' },
  child: { name: 'Child', icon: 'child' },
  signal: { name: 'Signal', icon: 'signal' },
  update: { name: 'Update', icon: 'signal' },
  request: { name: 'Message to another workflow', icon: 'right' },
  pause: { name: 'Pause', icon: 'paused' },
  mark: { name: 'Mark', icon: 'heldBack' },
};

export const STATE_ICONS: Record<ItemState, IconName> = {
  open: 'running',
  completed: 'completed',
  failed: 'failed',
  timed_out: 'timed_out',
  cancelled: 'cancelled',
  terminated: 'terminated',
  noted: 'completed',
  left: 'cancelled',
};

export const stateClass = (state: ItemState): string =>
  `state-${state === 'open' ? 'running' : state === 'noted' || state === 'left' ? 'cancelled' : state}`;

export const itemName = ({ name, occurrence }: Item): string =>
  occurrence > 1 ? `${legible(name)} · ${occurrence}` : legible(name);

const UNDER_WAY = { stepQueued: 'queued', stepRunning: 'under way', stepBackingOff: 'to be tried again' };

/** What became of it, or is becoming of it, in a word or two. */
export const stateName = ({ state, underWay }: Item): string =>
  underWay ? UNDER_WAY[underWay.code] : ITEM_STATES[state];

export const stateIcon = ({ state, underWay }: Item): IconName =>
  underWay?.code === 'stepBackingOff' ? 'reset' : STATE_ICONS[state];

export const stateInWords = (item: Item): string =>
  `${stateName(item)}${item.attempt > 1 ? `, attempt ${item.attempt}` : ''}`;

/** How many were begun: the next one of a step that is to be tried again was not. */
export const attemptsMade = ({ attempt, underWay }: Item): number =>
  underWay?.code === 'stepBackingOff' ? attempt - 1 : attempt;

/** On hover. */
export function itemInWords(item: Item, now: number): string {
  const took = duration((item.to ?? now) - (item.startedAt ?? item.from));
  return `${KINDS[item.kind].name} ${itemName(item)}, ${stateInWords(item)}, ${item.to === null ? 'so far ' : ''}${took}`;
}
