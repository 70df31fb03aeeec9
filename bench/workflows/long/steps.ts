import { step } from 'perdure';

export const increment = step({ name: 'increment', fn: async (value: number) => value + 1 });
