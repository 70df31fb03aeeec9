import { step } from 'perdure';

export const prepare = step({ name: 'prepare', fn: async () => 'ready' });
