/** What the other suites take for granted of the server they run on. */
import { Connection } from '@temporalio/client';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { DevServer } from './dev-server.js';
import { describeTemporal } from './required.js';

describeTemporal('the dev server', () => {
  let server: DevServer;
  beforeAll(async () => {
    server = await DevServer.start();
  });
  afterAll(() => server.stop());

  it('has what it acknowledged after it was killed and started again, on the same port', async () => {
    const { namespace } = server;
    for (const signal of ['SIGKILL', 'SIGTERM', 'SIGKILL'] as const) {
      const connection = await Connection.connect({ address: server.address });
      const ids = Array.from({ length: 50 }, (_, n) => `${signal}-${Math.random()}-${n}`);
      const started = await Promise.all(
        ids.map((workflowId) =>
          connection.workflowService.startWorkflowExecution({
            namespace,
            workflowId,
            workflowType: { name: 'any' },
            taskQueue: { name: 'any' },
            requestId: workflowId,
          }),
        ),
      );
      await server.kill(signal);
      expect(server.isRunning).toBe(false);
      await server.restart();
      for (const [index, workflowId] of ids.entries()) {
        const found = await connection.workflowService.describeWorkflowExecution({
          namespace,
          execution: { workflowId },
        });
        expect(found.workflowExecutionInfo?.execution?.runId).toBe(started[index]?.runId);
      }
      await connection.close();
    }
  });

  it('comes back when it has ended by itself', async () => {
    const { pid } = server;
    process.kill(pid!, 'SIGKILL');
    await expect.poll(() => server.isRunning && server.pid !== pid).toBe(true);
    await server.whenBack();
    const connection = Connection.lazy({ address: server.address });
    const { workflowService } = connection;
    await workflowService.describeNamespace({ namespace: server.namespace });
    await connection.close();
  });
});
