/** Traces of real runs: their histories come from real workers, over paging as the service reads them. */
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Engine, RunRef } from '../../src/engine.js';
import { grow } from '../../src/trace/growth.js';
import { traceText } from '../../src/trace/text.js';
import { TraceTree } from '../../src/trace/tree.js';
import { startEmbedded } from '../contract/embedded.js';
import type { System } from '../contract/system.js';

const WORKFLOWS = fileURLToPath(new URL('workflows', import.meta.url));
/** Epoch milliseconds of about now: tools compute with them. */
const TIME = expect.toSatisfy(
  (at: unknown) => Number.isInteger(at) && Math.abs(Date.now() - (at as number)) < 3_600_000,
);
const DECLINED = { name: 'Declined', code: 51, cause: { name: 'TypeError', message: 'socket closed' } };

type Json = Record<string, unknown>;

let system: System;
let engine: Engine;

beforeAll(async () => {
  system = await startEmbedded({ directory: WORKFLOWS, cacheSize: 100 });
  engine = system.engine;
});
afterAll(() => system.stop());

function start(workflowType: string, input: unknown, workflowId = workflowType): Promise<RunRef> {
  return engine.start({ workflowType, catalog: system.catalog, input: [JSON.stringify(input)], workflowId });
}

const ended = (run: RunRef) => engine.outcome(run, { waitMs: 20_000, followChain: false });

/** Read in pages so small that everything spans several. */
async function traceOf(run: RunRef): Promise<Json & { children: Json[] }> {
  const tree = new TraceTree(run.runId);
  for (let afterEventId = 0, done = false; !done; ) {
    const page = await engine.history(run, { afterEventId, limit: 3 });
    for (const event of page.events) grow(tree, event);
    afterEventId += page.events.length;
    done = page.ended;
  }
  return JSON.parse([...traceText(tree.trace)].join(''));
}

describe('a run in which everything happens', () => {
  let run: RunRef;
  let trace: Json & { children: Json[] };

  const nodes = (kind: string) => trace.children.filter((node) => node.kind === kind);

  beforeAll(async () => {
    run = await start('eventful', 7);
    expect(await engine.update(run, 'double', ['21'])).toBe('42');
    await engine.signal(run, 'address', ['"Main Street \\u00fc"']);
    expect(await ended(run)).toMatchObject({ status: 'completed' });
    trace = await traceOf(run);
  });

  it('is a workflow with its input, output and times', () => {
    const { children, ...workflow } = trace;
    expect(workflow).toEqual({
      version: 2,
      kind: 'workflow',
      name: 'eventful',
      ...run,
      catalog: system.catalog,
      status: 'completed',
      startedAt: TIME,
      endedAt: TIME,
      durationMs: expect.any(Number),
      attempt: 1,
      firstRunId: run.runId,
      continuedFromRunId: null,
      continuedAsRunId: null,
      parent: null,
      input: 7,
      output: { charged: { charged: 7 }, hello: 'hello you', address: 'Main Street ü' },
      error: null,
    });
    const took = (trace.endedAt as number) - (trace.startedAt as number);
    expect(trace.durationMs).toBe(took);
  });

  it('has the step with what is known of its attempts', () => {
    const times = { startedAt: TIME, endedAt: TIME };
    expect(nodes('step')).toEqual([
      {
        kind: 'step',
        eventId: expect.stringMatching(/^\d+$/),
        status: 'completed',
        startedAt: TIME,
        endedAt: TIME,
        durationMs: expect.any(Number),
        name: 'charge',
        type: 'eventful#charge',
        input: 7,
        output: { charged: 7 },
        error: null,
        attempts: [
          {
            attempt: 1,
            startedAt: null,
            endedAt: null,
            error: { ...DECLINED, message: 'try again', activityType: 'eventful#charge' },
          },
          { attempt: 2, ...times, error: null },
        ],
        costs: {
          totals: [{ currency: 'USD', amount: '0.3' }],
          usage: { calls: 3 },
          records: [1, 2].map((attempt) => ({
            ...{ at: TIME, stepName: 'charge', activityId: expect.any(String), attempt },
            ...{
              kind: 'bank',
              label: 'fee',
              currency: 'USD',
              amount: `0.${attempt}`,
              usage: { calls: attempt },
            },
          })),
        },
      },
    ]);
  });

  it('has the child with its ids', async () => {
    const child = await engine.describe({ workflowId: `${run.runId}-child` });
    expect(nodes('child')).toMatchObject([
      {
        name: 'greet',
        workflowId: `${run.runId}-child`,
        runId: child.runId,
        status: 'completed',
        input: 'you',
        output: 'hello you',
        error: null,
      },
    ]);
    const { workflowId, runId } = child;
    expect(await traceOf({ workflowId, runId })).toMatchObject({ name: 'greet', parent: run });
  });

  it('has timers, messages and markers', () => {
    expect(nodes('timer')).toMatchObject([
      { timeoutMs: 3_600_000, status: 'cancelled', endedAt: TIME },
      { timeoutMs: 5, status: 'fired', endedAt: TIME },
    ]);
    expect(nodes('signal')).toMatchObject([{ name: 'address', input: 'Main Street ü', from: null }]);
    expect(nodes('update')).toMatchObject([
      { name: 'double', status: 'completed', input: 21, output: 42, error: null },
    ]);
    expect(nodes('marker')).toMatchObject([{ details: { patchId: 'with-greeting' } }]);
    expect(nodes('sent_signal')).toMatchObject([
      { name: 'anything', workflowId: 'nobody', runId: null, status: 'failed', error: expect.anything() },
    ]);
  });

  it('lists them in the order of the history', () => {
    const ids = trace.children.map(({ eventId }) => Number(eventId));
    expect(ids).toEqual([...ids].sort((a, b) => a - b));
  });
});

describe('the end of a run', () => {
  it('is a failure in the form of results, without a stack', async () => {
    const run = await start('refused', null);
    await ended(run);
    const trace = await traceOf(run);
    const error = { ...DECLINED, message: 'no funds', activityType: 'refused#refuse' };
    expect(trace).toMatchObject({ status: 'failed', output: null, error });
    expect(trace.children).toMatchObject([
      { kind: 'step', status: 'failed', error, attempts: [{ attempt: 1, error }] },
    ]);
    expect(JSON.stringify(trace)).not.toMatch(/stack|\bat .*\.ts/i);
  });

  it('is a termination with what was open then', async () => {
    const run = await start('waiting', null, 'terminated');
    await engine.history(run, { afterEventId: 4, limit: 1, waitMs: 20_000 });
    await engine.terminate(run, 'enough');
    expect(await traceOf(run)).toMatchObject({
      status: 'terminated',
      error: { name: 'TerminatedError', message: 'enough' },
      children: [{ kind: 'timer', status: 'open', endedAt: null, durationMs: null }],
    });
  });

  it('has what a step had spent that was open then', async () => {
    const run = await start('spending', null);
    const spent = async () => {
      let count = 0;
      await engine.cost(run, 'run', ({ records }) => {
        count += records.length;
      });
      return count;
    };
    await expect.poll(spent, { timeout: 60_000 }).toBe(1);
    await engine.terminate(run, 'enough');
    const totals = [{ currency: 'EUR', amount: '0.5' }];
    expect((await traceOf(run)).children).toMatchObject([
      { kind: 'step', status: 'open', costs: { totals, records: [{ attempt: 1, amount: '0.5' }] } },
    ]);
  });

  it('is a cancellation, with the request for it', async () => {
    const run = await start('waiting', null, 'cancelled');
    await engine.history(run, { afterEventId: 4, limit: 1, waitMs: 20_000 });
    await engine.cancel(run);
    await ended(run);
    expect(await traceOf(run)).toMatchObject({
      status: 'cancelled',
      error: { name: 'CancelledError' },
      children: [{ kind: 'timer', status: 'cancelled' }, { kind: 'cancel_request' }],
    });
  });

  it('is another run that it goes on as', async () => {
    const first = await start('counting', 1);
    await engine.outcome({ workflowId: 'counting' }, { waitMs: 20_000 });
    const last = await engine.describe({ workflowId: 'counting' });
    expect(await traceOf(first)).toMatchObject({
      status: 'continued_as_new',
      continuedAsRunId: last.runId,
      error: null,
    });
    expect(await traceOf(last)).toMatchObject({
      status: 'completed',
      input: 0,
      output: 'done',
      firstRunId: first.runId,
      continuedFromRunId: first.runId,
    });
  });
});

describe('a reset', () => {
  it('shows where it left the old history', async () => {
    const old = await start('eventful', 1, 'reset');
    await engine.signal(old, 'address', ['"A"']);
    await ended(old);
    const anew = await engine.reset(old, { stepName: 'charge', reason: 'once more' });
    await ended(anew);
    const trace = await traceOf(anew);
    expect(trace).toMatchObject({ status: 'completed', runId: anew.runId });
    expect(trace.children).toContainEqual(
      expect.objectContaining({ kind: 'failed_turn', cause: 'RESET_WORKFLOW' }),
    );
  });
});
