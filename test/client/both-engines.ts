/** What the client and the command line do with real runs, on whichever engine. */
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  type Client,
  createClient,
  WorkflowCancelledError,
  WorkflowFailedError,
  WorkflowTerminatedError,
} from '../../src/client/index.js';
import { call } from '../cli/shell.js';
import type adds from '../cli/workflows/adds/workflow.js';
import type waits from '../cli/workflows/waits/workflow.js';
import type { HttpSystem, StartHttp } from '../http/system.js';
import type counting from './workflows/counting/workflow.js';
import type greeting from './workflows/greeting/workflow.js';

const WORKFLOWS = fileURLToPath(new URL('..', import.meta.url));

export function clientOnEngine(startSystem: StartHttp): void {
  let system: HttpSystem;
  let client: Client;
  beforeAll(async () => {
    system = await startSystem({ directory: `${WORKFLOWS}cli/workflows` });
    client = createClient({ baseUrl: system.server.url });
  });
  afterAll(() => system?.stop());

  it('runs, and says what a run failed with', async () => {
    expect(await client.workflow<typeof adds>('adds').run({ a: 1, b: 2 })).toBe(3);
    const failed = await client
      .workflow('fails')
      .run()
      .catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(WorkflowFailedError);
    expect(failed).toMatchObject({ status: 'failed', error: { name: 'CardError', message: 'declined' } });
  });

  it('sends typed messages, stops, terminates and resets', async () => {
    const workflows = client.workflow<typeof waits>('waits');
    const [told, stopped, terminated] = await Promise.all([1, 2, 3].map(() => workflows.start({ steps: 1 })));
    expect(await told!.update('push', 2)).toBeGreaterThanOrEqual(2);
    await told!.signal('go', 'now');
    expect(await told!.result()).toBe('now');
    expect(await told!.query('got')).toBe('now');

    expect(await stopped!.stop()).toMatchObject({ workflowId: stopped!.workflowId });
    await expect(stopped!.result()).rejects.toBeInstanceOf(WorkflowCancelledError);
    await terminated!.terminate({ reason: 'enough' });
    await expect(terminated!.result()).rejects.toBeInstanceOf(WorkflowTerminatedError);

    const again = await told!.reset({ stepName: 'add' });
    // The signal came after the step, so it is delivered to the new run again.
    expect(await again.result()).toBe('now');
    expect((await again.status()).runId).toBe(again.startedRunId);
  });

  it('follows a history to its end, every event once', async () => {
    const handle = await client.workflow<typeof waits>('waits').start({ steps: 3 });
    const seen: string[] = [];
    let isTold = false;
    for await (const { eventId, eventTypeName } of handle.history({ follow: true })) {
      seen.push(`${eventId} ${eventTypeName}`);
      if (eventTypeName === 'ACTIVITY_TASK_COMPLETED' && !isTold) {
        isTold = true;
        await handle.signal('go', 'now');
      }
    }
    const written: string[] = [];
    for await (const { eventId, eventTypeName } of handle.history())
      written.push(`${eventId} ${eventTypeName}`);
    expect(seen).toEqual(written);
    expect(seen.at(-1)).toContain('WORKFLOW_EXECUTION_COMPLETED');
  });

  it('is what the command line does', async () => {
    const env = { PERDURE_SERVER: system.server.url };
    expect(await call(['run', 'adds', '{"a":2,"b":3}'], { env })).toMatchObject({ code: 0, stdout: '5\n' });
    expect(await call(['run', 'fails', 'null'], { env })).toMatchObject({ code: 1, stdout: '' });
    expect(await call(['status', 'nobody'], { env })).toMatchObject({ code: 4, stdout: '' });
    const { workflowId } = await client.workflow('waits').start({ steps: 1 });
    expect(await call(['stop', workflowId], { env })).toMatchObject({ code: 0 });
    expect((await call(['result', workflowId], { env })).stderr).toMatch(/was cancelled/);
    const listed = await call(['list', '--filter', `workflowId=${workflowId}`, '--json'], { env });
    expect(JSON.parse(listed.stdout)).toMatchObject({ count: 1 });
  });
}

/** Over a chain of runs; a folder of its own, since each engine loads one. */
export function clientOverChains(startSystem: StartHttp): void {
  let system: HttpSystem;
  beforeAll(async () => {
    system = await startSystem({ directory: `${WORKFLOWS}client/workflows` });
  });
  afterAll(() => system?.stop());

  it('leaves out an input that may be left out', async () => {
    const greetings = createClient({ baseUrl: system.server.url }).workflow<typeof greeting>('greeting');
    expect(await greetings.run()).toBe('hello nobody');
    expect(await greetings.run({ name: 'ada' })).toBe('hello ada');
    const env = { PERDURE_SERVER: system.server.url };
    expect(await call(['run', 'greeting'], { env })).toMatchObject({ code: 0, stdout: '"hello nobody"\n' });
  });

  it('follows a history over continue-as-new: every event of every run, from the run that was started', async () => {
    const client = createClient({ baseUrl: system.server.url });
    const handle = await client.workflow<typeof counting>('counting').start({ to: 12 });
    expect(await handle.result()).toEqual({ counted: 12 });
    const seen: string[] = [];
    for await (const { runId, eventId } of handle.history({ follow: true })) seen.push(`${runId}/${eventId}`);
    const runs = [];
    for await (const run of client.runs({ workflowId: handle.workflowId })) runs.unshift(run);
    expect(runs.map(({ status }) => status)).toEqual(['continued_as_new', 'continued_as_new', 'completed']);
    const written: string[] = [];
    for (const { runId } of runs)
      for await (const { eventId } of client.handle(handle.workflowId, runId).history())
        written.push(`${runId}/${eventId}`);
    expect(seen).toEqual(written);
  });
}
