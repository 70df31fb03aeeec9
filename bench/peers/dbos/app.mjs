// The workloads as one writes them for DBOS: workflows and steps are functions of the process that answers the calls.
import { DBOS } from '@dbos-inc/dbos-sdk';
import { serve } from '../front.mjs';

const [port, systemDatabaseUrl] = process.argv.slice(2);
const echo = async (input) => input;

/** So many steps, one after the other. */
const inARow = (steps) =>
  DBOS.registerWorkflow(
    async (input) => {
      let value = input;
      for (let step = 1; step <= steps; step++) {
        const before = value;
        value = await DBOS.runStep(() => echo(before), { name: `step${step}` });
      }
      return value;
    },
    { name: `steps${steps}` },
  );

const parallel = DBOS.registerWorkflow(
  async (input) => {
    await Promise.all(
      Array.from({ length: 100 }, (_, i) => DBOS.runStep(() => echo(input), { name: `step${i}` })),
    );
    return input;
  },
  { name: 'parallel' },
);

/** Takes messages for ever; nothing asks for the sum. */
const counter = DBOS.registerWorkflow(
  async () => {
    for (;;) await DBOS.recv('add', 3_600);
  },
  { name: 'counter' },
);

const workflows = Object.fromEntries([0, 1, 3, 20].map((steps) => [`steps${steps}`, inARow(steps)]));

DBOS.setConfig({
  name: 'bench',
  applicationVersion: '1',
  systemDatabaseUrl,
  logLevel: 'error',
  runAdminServer: false,
});
await DBOS.launch();

serve(port, {
  ...workflows,
  parallel,
  start: async (input) => ({ id: (await DBOS.startWorkflow(workflows.steps0)(input)).workflowID }),
  startCounter: async (_, id) => ({
    id: (await DBOS.startWorkflow(counter, { workflowID: id })()).workflowID,
  }),
  signal: async (_, id) => {
    await DBOS.send(id, 1, 'add');
    return { ok: true };
  },
});
