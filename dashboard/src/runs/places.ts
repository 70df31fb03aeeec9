/**
 * Where somebody was in the list, for each entry of the browser's history: whoever comes back from a run goes on reading
 * there. A link to the list is a new entry, and begins at the newest.
 */
import { admission } from '../app/session.js';
import type { Kept } from './run-list.js';

/** It is written while somebody moves in the list. */
export interface Place {
  scrollTop: number;
  /** The row that the keyboard is at. */
  focused: number;
  /** It was left by a key, and whoever comes back goes on with keys. */
  isLeftByKey: boolean;
}

interface Left {
  /** Of the filters that it was the list for. */
  key: string;
  kept: Kept;
  place: Place;
}

/** Nobody goes back further than that and knows where they were; each may have thousands of runs. */
const MOST = 5;
const left = new Map<string, Left>();
admission.subscribe(() => admission.value === 'forgotten' && left.clear());

/** Which entry of its history the browser is at. */
export const entryKey = (): string | undefined => (history.state as { __TSR_key?: string } | null)?.__TSR_key;

export function leave(entry: string | undefined, leaving: Left): void {
  if (entry === undefined || admission.value === 'forgotten') return;
  left.delete(entry);
  left.set(entry, leaving);
  for (const oldest of [...left.keys()].slice(0, -MOST)) left.delete(oldest);
}

export function comeBack(entry: string | undefined, key: string): Left | undefined {
  const found = left.get(entry ?? '');
  return found?.key === key ? found : undefined;
}
