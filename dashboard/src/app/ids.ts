/**
 * Workflow ids as parts of addresses. URLs take `.` and `..` for a way through folders, percent-encoded as well, so these two are
 * written otherwise: in addresses of the page by a tilde before them, in those of the API as that takes them.
 */
const DOTS = /^~*\.{1,2}$/;

/** Those that begin with tildes get another one, so that each address has one id. */
export const pageParam = (workflowId: string): string =>
  DOTS.test(workflowId) ? `~${workflowId}` : workflowId;

export const idOfPageParam = (param: string): string =>
  param.startsWith('~') && DOTS.test(param) ? param.slice(1) : param;

export const apiSegment = (workflowId: string): string =>
  workflowId === '.' || workflowId === '..' ? `%1B${workflowId}` : encodeURIComponent(workflowId);
