import { step } from 'perdure';

/** The bug: a number that nobody writes down before it is used, so that another attempt gives another one. */
export const draw = step({ name: 'draw', fn: async () => ({ ticket: Math.floor(Math.random() * 1e9) }) });
