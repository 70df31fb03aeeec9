/** A worker of another maker: Temporal's own, as anybody would run it. */
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import {
  bundleWorkflowCode,
  DefaultLogger,
  NativeConnection,
  Runtime,
  Worker,
  type WorkflowBundle,
} from '@temporalio/worker';
import { declined } from './thrown.js';

const silent = new DefaultLogger('ERROR', () => {});
Runtime.install({ logger: silent });

const activities = {
  hello: async (name: string) => `hello ${name}`,
  decline: async () => {
    throw ApplicationFailure.create({ type: 'CardDeclined', message: 'no funds', nonRetryable: true });
  },
  'pay#charge': async () => {
    throw declined();
  },
};

export const ENTRIES = [
  {
    name: 'greet',
    description: 'Says hello',
    aliases: ['salute'],
    inputSchema: { type: 'object', required: ['name'], properties: { name: { type: 'string' } } },
    steps: [{ name: 'hello' }],
  },
  { name: 'greetOfOld' },
  { name: 'failOfOld' },
  { name: 'failInStep' },
  { name: 'counter' },
  {
    name: 'pay',
    // In output form: what has a default is required, and nothing else is allowed.
    inputSchema: {
      type: 'object',
      required: ['how', 'cents'],
      properties: { how: { type: 'string' }, cents: { type: 'number', default: 5 } },
      additionalProperties: false,
    },
  },
  { name: 'paySeveral' },
];

const NAMES = Object.fromEntries([
  ...ENTRIES.map(({ name }) => [name, name]),
  ...ENTRIES.flatMap(({ name, aliases = [] }) => aliases.map((alias) => [alias, name])),
]);

let bundle: Promise<WorkflowBundle> | undefined;

export class ForeignWorker {
  private constructor(
    private readonly connection: NativeConnection,
    private readonly worker: Worker,
    private readonly running: Promise<void>,
  ) {}

  static async start(address: string, taskQueue: string): Promise<ForeignWorker> {
    bundle ??= bundleWorkflowCode({
      workflowsPath: fileURLToPath(new URL('./workflows.ts', import.meta.url)),
      logger: silent,
    });
    const connection = await NativeConnection.connect({ address });
    const worker = await Worker.create({ connection, taskQueue, workflowBundle: await bundle, activities });
    return new ForeignWorker(connection, worker, worker.run());
  }

  async stop(): Promise<void> {
    this.worker.shutdown();
    await this.running;
    await this.connection.close();
  }
}

/** As another maker's deployment registers a catalog. */
export async function registerForeign(address: string, catalog: string): Promise<void> {
  const connection = await Connection.connect({ address });
  const client = new Client({ connection });
  await client.workflow.start('registration', {
    workflowId: catalog,
    taskQueue: catalog,
    args: [ENTRIES],
    memo: { workflowNames: NAMES },
  });
  await connection.close();
}
