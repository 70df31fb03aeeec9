/** What Temporal's core says about a turn whose code does not fit its history, in the words that the history has here. */
import type { Failure } from '../../core/history/failure.js';

const PREFIX = /^\[TMPRL1100\] Nondeterminism error: /;
const EVENT = /HistoryEvent\(id: (\d+), (\w+)\)/g;

export function readable(message: string | null | undefined): string {
  return (message ?? '')
    .replace(PREFIX, 'the code does not fit the history: ')
    .replace(
      EVENT,
      (_, id: string, name: string) => `event ${id}, ${name.replace(/\B[A-Z]/g, '_$&').toUpperCase()}`,
    );
}

export const readableFailure = (failure: Failure): Failure => ({
  ...failure,
  message: readable(failure.message),
});
