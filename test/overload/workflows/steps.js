import { step } from 'perdure';

export const brief = step({ name: 'brief', fn: async (input) => input });
