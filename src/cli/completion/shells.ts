/** For whom there are completions, and what of it a server is asked for. */

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

export const WORD_KINDS = ['workflows', 'ids'] as const;
export type WordKind = (typeof WORD_KINDS)[number];

/** What a completion is asked with when the line has it: each takes a value. */
export const SERVER_FLAGS = ['--server', '--token', '--token-file', '--catalog'];
