import { step } from 'perdure';

const named = <N extends string>(name: N) => step({ name, fn: async (_input: { id: string }) => name });

export const charge = named('charge');
export const ship = named('ship');
export const notify = named('notify');
export const beta = named('beta');
