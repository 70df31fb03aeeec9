import { step } from 'perdure';

/** Its neighbour has another one of that name. */
export const send = step({ name: 'send', fn: async (text: string) => `left sent ${text}` });
