// A worker of Temporal's own SDK, with the settings it comes with.
import { fileURLToPath } from 'node:url';
import { NativeConnection, Worker } from '@temporalio/worker';

const [address, taskQueue] = process.argv.slice(2);
const echo = async (input) => input;
const worker = await Worker.create({
  connection: await NativeConnection.connect({ address }),
  taskQueue,
  workflowsPath: fileURLToPath(new URL('workflows.mjs', import.meta.url)),
  activities: { first: echo, second: echo, third: echo },
});
await worker.run();
