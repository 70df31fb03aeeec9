// The least that makes Temporal's own client callable over HTTP.
import { randomUUID } from 'node:crypto';
import { Client, Connection } from '@temporalio/client';
import { serve } from '../front.mjs';

const [address, taskQueue, port] = process.argv.slice(2);
const { workflow } = new Client({ connection: await Connection.connect({ address }) });

const run = (name) => (input) =>
  workflow.execute(name, { taskQueue, workflowId: randomUUID(), args: [input] });

serve(port, {
  steps0: run('steps0'),
  steps1: run('steps1'),
  steps3: run('steps3'),
  steps20: run('steps20'),
  parallel: run('parallel'),
  start: async (input) => {
    const handle = await workflow.start('steps0', { taskQueue, workflowId: randomUUID(), args: [input] });
    return { id: handle.workflowId };
  },
  startCounter: async (_, workflowId) => {
    await workflow.start('counter', { taskQueue, workflowId });
    return { id: workflowId };
  },
  signal: async (_, id) => {
    await workflow.getHandle(id).signal('add', 1);
    return { ok: true };
  },
  update: (_, id) => workflow.getHandle(id).executeUpdate('addAndTell', { args: [1] }),
  query: (_, id) => workflow.getHandle(id).query('total'),
});
