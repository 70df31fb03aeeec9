// A worker of Temporal's own SDK. The number of pollers follows the load, which its makers recommend; all else is as it
// comes.
import { fileURLToPath } from 'node:url';
import { NativeConnection, Worker } from '@temporalio/worker';

const [address, taskQueue] = process.argv.slice(2);
const worker = await Worker.create({
  connection: await NativeConnection.connect({ address }),
  taskQueue,
  workflowsPath: fileURLToPath(new URL('workflows.mjs', import.meta.url)),
  activities: { echo: async (input) => input },
  workflowTaskPollerBehavior: { type: 'autoscaling' },
  activityTaskPollerBehavior: { type: 'autoscaling' },
});
await worker.run();
