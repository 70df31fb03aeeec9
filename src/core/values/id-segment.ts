/**
 * Workflow ids as parts of addresses. URLs take `.` and `..` for a way through folders, percent-encoded as well, and browsers and
 * `fetch` send them to nobody; so before these two goes a character that no id can have.
 */
const ESCAPE = '\u001b';

const isDots = (id: string): boolean => id === '.' || id === '..';

export const segmentOfId = (workflowId: string): string =>
  encodeURIComponent(isDots(workflowId) ? `${ESCAPE}${workflowId}` : workflowId);

/** Of a part that is decoded already. */
export const idOfSegment = (segment: string): string =>
  segment.startsWith(ESCAPE) && isDots(segment.slice(1)) ? segment.slice(1) : segment;
