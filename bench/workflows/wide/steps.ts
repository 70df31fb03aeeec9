import { step } from 'perdure';

export const echo = step({ name: 'echo', fn: async (input: unknown) => input });
