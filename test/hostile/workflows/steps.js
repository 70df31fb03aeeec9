import { setTimeout as pause } from 'node:timers/promises';
import { step } from 'perdure';

const define = (name, fn) => step({ name, fn });

export const brief = define('brief', async (input) => {
  await pause(10);
  return input;
});
export const loops = define('loops', async () => {
  for (;;);
});
export const loopsLater = define('loopsLater', async () => {
  await pause(50);
  for (;;) await null;
});
export const exits = define('exits', async () => process.exit(0));
export const isKilled = define('isKilled', async () => process.kill(process.pid, 'SIGKILL'));
export const fillsHeap = define('fillsHeap', async () => {
  const all = [];
  for (;;) {
    all.push(new Array(100_000).fill({ some: 'thing' }));
    await null;
  }
});
export const throwsLongMessage = define('throwsLongMessage', async () => {
  throw new Error('x'.repeat(100_000));
});
export const replacesBuiltIns = define('replacesBuiltIns', async () => {
  JSON.stringify = () => {
    throw new Error('replaced');
  };
  return 1;
});
