/**
 * The server's clock. All instants come from there, and what is shown is how far they are from now: by a clock of this machine that
 * is an hour off, a run would have started in the future.
 *
 * Every answer says in whole seconds when it was made, which was after its question was sent and before it came. While this
 * machine's clock agrees with that, it is taken as it is.
 */

/** How far the server's clock is ahead of this machine's, in milliseconds. */
let ahead = 0;

const PRECISION_MS = 1_000;
/** What clocks that agree may differ by; an answer may also have waited after it got its date. */
const SLACK_MS = 1_000;

export const serverNow = (): number => Date.now() + ahead;

export function heardDate(date: string | null, sentAt: number): void {
  const at = Date.parse(date ?? '');
  if (Number.isNaN(at)) return;
  const least = at - Date.now() - SLACK_MS;
  const most = at + PRECISION_MS - sentAt + SLACK_MS;
  ahead = Math.min(Math.max(ahead, least), Math.max(most, least));
}
