import { step } from 'perdure';

const echo = async (input: unknown) => input;

export const first = step({ name: 'first', fn: echo });
export const second = step({ name: 'second', fn: echo });
export const third = step({ name: 'third', fn: echo });
