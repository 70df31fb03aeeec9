import { step } from 'perdure';

export const only = step({ name: 'only', fn: async (input: unknown) => input });
