// The workload of bench/workflows/three, as one writes it for Temporal.
import { proxyActivities } from '@temporalio/workflow';

const { first, second, third } = proxyActivities({ startToCloseTimeout: '1 minute' });

export async function three(input) {
  return third(await second(await first(input)));
}
