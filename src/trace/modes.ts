/** Which runs get their trace as soon as they have closed. Other runs get theirs when it is first asked for. */
export const TRACE_MODES = ['all', 'failed', 'on-demand', 'off'] as const;
export type TraceMode = (typeof TRACE_MODES)[number];
