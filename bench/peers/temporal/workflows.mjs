// The workloads as one writes them for Temporal.
import {
  condition,
  defineQuery,
  defineSignal,
  defineUpdate,
  proxyActivities,
  setHandler,
} from '@temporalio/workflow';

const { echo } = proxyActivities({ startToCloseTimeout: '1 minute' });

const inARow = (steps) => async (input) => {
  let value = input;
  for (let step = 0; step < steps; step++) value = await echo(value);
  return value;
};

export const steps0 = inARow(0);
export const steps1 = inARow(1);
export const steps3 = inARow(3);
export const steps20 = inARow(20);

export async function parallel(input) {
  await Promise.all(Array.from({ length: 100 }, () => echo(input)));
  return input;
}

export async function counter() {
  let total = 0;
  setHandler(defineSignal('add'), (amount) => {
    total += amount;
  });
  setHandler(defineUpdate('addAndTell'), (amount) => {
    total += amount;
    return { total };
  });
  setHandler(defineQuery('total'), () => ({ total }));
  await condition(() => total < 0);
}
