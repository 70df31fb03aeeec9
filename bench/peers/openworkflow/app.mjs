// The workloads as one writes them for OpenWorkflow, with a worker in the same process.
import { OpenWorkflow } from 'openworkflow';
import { BackendSqlite } from 'openworkflow/sqlite';
import { serve } from '../front.mjs';

const [port, file] = process.argv.slice(2);
const backend = BackendSqlite.connect(file);

// Its own connection is the one to ask: the setting belongs to the connection, not to the file.
const [{ synchronous }] = backend.db.prepare('PRAGMA synchronous').all();
const [{ journal_mode: journal }] = backend.db.prepare('PRAGMA journal_mode').all();
if (synchronous !== 2 || journal !== 'wal') {
  throw new Error(
    `SQLite runs with journal_mode=${journal} synchronous=${synchronous}, which is not durable`,
  );
}

const ow = new OpenWorkflow({ backend });

const inARow = (steps) =>
  ow.defineWorkflow({ name: `steps${steps}` }, async ({ input, step }) => {
    let value = input;
    for (let number = 1; number <= steps; number++) {
      const before = value;
      value = await step.run({ name: `step${number}` }, async () => before);
    }
    return value;
  });

const parallel = ow.defineWorkflow({ name: 'parallel' }, async ({ input, step }) => {
  await Promise.all(Array.from({ length: 100 }, (_, i) => step.run({ name: `step${i}` }, async () => input)));
  return input;
});

const workflows = Object.fromEntries([0, 1, 3, 20].map((steps) => [`steps${steps}`, inARow(steps)]));
await ow.newWorker({ concurrency: 10 }).start();

const runOf = (workflow) => async (input) => (await workflow.run(input)).result();

serve(port, {
  ...Object.fromEntries(Object.entries(workflows).map(([name, workflow]) => [name, runOf(workflow)])),
  parallel: runOf(parallel),
  start: async (input) => ({ id: (await workflows.steps0.run(input)).workflowRun.id }),
});
