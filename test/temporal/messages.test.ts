/** Messages whose answers are lost, or whose run goes on as another one meanwhile: each is delivered once. */
import { randomUUID } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { RunRef } from '../../src/engine.js';
import { createServer } from '../../src/http/index.js';
import type { TemporalEngine } from '../../src/temporal/index.js';
import { Deployed } from './deployed.js';
import { Line } from './line.js';
import { describeTemporal } from './required.js';

const WORKFLOW = `
import { workflow, condition, defineSignal, defineUpdate, setHandler } from 'perdure';
/** Passes on what it has seen from run to run. */
export const chain = workflow({ name: 'chain', fn: async (before, context) => {
  const seen = [...(before ?? [])];
  let next;
  setHandler(defineSignal('add'), (value) => { seen.push(value); });
  setHandler(defineUpdate('add'), (value) => { seen.push(value); return seen.length; });
  setHandler(defineSignal('next'), (how) => { next = how; });
  await condition(() => next !== undefined);
  if (next === 'end') return seen;
  return context.control.continueAsNew(seen);
} });
`;

describeTemporal('messages to a chain of runs', () => {
  let deployed: Deployed;
  let line: Line;
  let user: TemporalEngine;
  beforeAll(async () => {
    deployed = await Deployed.start({
      files: { 'flow/workflow.js': WORKFLOW },
      server: {
        config: { 'history.workflowIdReuseMinimalInterval': '0s', 'history.maxInFlightUpdates': 100 },
      },
    });
    line = await Line.to(deployed.server.port);
    user = await deployed.open(line.address);
  });
  afterAll(async () => {
    await deployed?.stop();
    await line?.stop();
  });

  const messages = {
    signal: (run: RunRef, text: string) =>
      user.signal({ workflowId: run.workflowId }, 'add', [JSON.stringify(text)]),
    update: (run: RunRef, text: string) =>
      user.update({ workflowId: run.workflowId }, 'add', [JSON.stringify(text)]),
  };

  /** The run goes on as another one. */
  async function goOn(run: RunRef): Promise<RunRef> {
    const { workflowId } = run;
    await deployed.engine.signal({ workflowId }, 'next', ['"again"']);
    return vi.waitFor(
      async () => {
        const latest = await deployed.engine.describe({ workflowId });
        expect(latest.runId).not.toBe(run.runId);
        return { workflowId, runId: latest.runId };
      },
      { timeout: 60_000 },
    );
  }

  async function seen({ workflowId }: RunRef): Promise<unknown> {
    await deployed.engine.signal({ workflowId }, 'next', ['"end"']);
    return JSON.parse((await deployed.outcome({ workflowId })).output!);
  }

  describe.each(['signal', 'update'] as const)('%s', (kind) => {
    test('is delivered once when its answer is lost and the run goes on as another', async () => {
      const text = `lost-${randomUUID()}`;
      const run = await deployed.start('chain');
      line.loseAnswersTo(text);
      const sending = messages[kind](run, text);
      const taken = kind === 'signal' ? 'WORKFLOW_EXECUTION_SIGNALED' : 'WORKFLOW_EXECUTION_UPDATE_COMPLETED';
      await vi.waitFor(
        async () => expect((await deployed.history(run)).map(({ type }) => type)).toContain(taken),
        { timeout: 60_000 },
      );
      const next = await goOn(run);
      line.cut();
      const answer = await sending;
      expect(answer).toEqual(kind === 'signal' ? run : '1');
      expect(await seen(next)).toEqual([text]);
    });

    test('goes to the next run when the one it was meant for has closed before it came', async () => {
      const text = `late-${randomUUID()}`;
      const run = await deployed.start('chain');
      const sent = line.holdRequests(text);
      const sending = messages[kind](run, text);
      await sent;
      const next = await goOn(run);
      line.release();
      expect(await sending).toEqual(kind === 'signal' ? next : '1');
      expect(await seen(next)).toEqual([text]);
    });

    test('is refused when no run comes after the one that has closed', async () => {
      const text = `never-${randomUUID()}`;
      const run = await deployed.start('chain');
      const sent = line.holdRequests(text);
      const sending = messages[kind](run, text);
      await sent;
      await deployed.engine.terminate(run, 'over');
      line.release();
      await expect(sending).rejects.toMatchObject({ name: 'WorkflowAlreadyClosedError' });
    });
  });

  test('a terminate ends the run that it says it has ended, also when another has taken its place', async () => {
    const reason = `held-${randomUUID()}`;
    const run = await deployed.start('chain');
    const sent = line.holdRequests(reason);
    const ending = user.terminate({ workflowId: run.workflowId }, reason);
    await sent;
    const next = await goOn(run);
    line.release();
    expect(await ending).toEqual(next);
    expect((await deployed.engine.describe(next)).status).toBe('terminated');
  });

  describe('with updates before them that nobody takes', () => {
    const UPDATES = 25;
    const started = async () => {
      const run = await deployed.engine.start({ workflowType: 'chain', catalog: 'nobody', input: [] });
      const updates = Array.from({ length: UPDATES }, () => deployed.engine.update(run, 'add', ['1']));
      // They may be over before anybody waits for them.
      for (const update of updates) update.catch(() => {});
      return { run, updates };
    };
    const over = async (updates: Promise<unknown>[]) => {
      for (const { status } of await Promise.allSettled(updates)) expect(status).toBe('rejected');
    };

    test('a terminate does not wait for them', async () => {
      const { run, updates } = await started();
      const others = await started();
      let isOneOver = false;
      for (const update of others.updates) {
        update.catch(() => {
          isOneOver = true;
        });
      }
      await deployed.engine.terminate(run, 'at once');
      expect(isOneOver).toBe(false);
      await deployed.engine.terminate(others.run, 'enough');
      await over([...updates, ...others.updates]);
    });

    test('a signal waits for all of them no longer than for one', async () => {
      const { run, updates } = await started();
      const before = performance.now();
      await deployed.engine.signal(run, 'add', ['2']);
      // One after the other they take minutes.
      expect(performance.now() - before).toBeLessThan(60_000);
      await deployed.engine.terminate(run, 'enough');
      await over(updates);
    });
  });

  test('signals and updates that come together are taken in the order in which they came', async () => {
    const run = await deployed.start('chain');
    const sent = Array.from({ length: 40 }, (_, index) => index);
    await Promise.all(
      sent.map((index) =>
        index % 4 === 0
          ? deployed.engine.signal(run, 'add', [`${index}`])
          : deployed.engine.update(run, 'add', [`${index}`]),
      ),
    );
    expect(await seen(run)).toEqual(sent);
  });

  describe('over HTTP', () => {
    async function serve(engine: TemporalEngine) {
      const server = createServer({ engine });
      await server.listen({ host: '127.0.0.1', port: 0 });
      const { port } = new URL(server.url);
      return { server, port: Number(port) };
    }

    test('messages that come on one connection at once are delivered in their order', async () => {
      const { server, port } = await serve(deployed.engine);
      const run = await deployed.start('chain');
      const sent = Array.from({ length: 60 }, (_, index) => index);
      const socket = connect(port, '127.0.0.1');
      for (const index of sent) socket.write(requestOf(run, 'signal/add', index));
      const answers = await answersOn(socket, sent.length);
      expect(answers).toEqual(sent.map(() => '200'));
      expect(await seen(run)).toEqual(sent);
      await server.close();
    });

    test('a message does not fetch the input of its run', async () => {
      const { server, port } = await serve(user);
      const input = ['x'.repeat(1_000_000)];
      const run = await deployed.start('chain', input);
      const before = line.bytesBack;
      const socket = connect(port, '127.0.0.1');
      for (let index = 0; index < 5; index++) socket.write(requestOf(run, 'signal/add', index));
      expect(await answersOn(socket, 5)).toEqual(Array.from({ length: 5 }, () => '200'));
      expect(line.bytesBack - before).toBeLessThan(500_000);
      await deployed.engine.terminate(run, 'done');
      await server.close();
    });

    function requestOf({ workflowId }: RunRef, path: string, payload: unknown): string {
      const body = JSON.stringify({ payload });
      return [
        `POST /workflow/${workflowId}/${path} HTTP/1.1`,
        ...['host: localhost', 'content-type: application/json', `content-length: ${body.length}`],
        ...['', body],
      ].join('\r\n');
    }

    /** The statuses of the first answers. */
    async function answersOn(socket: Socket, count: number): Promise<string[]> {
      let text = '';
      for await (const data of socket) {
        text += data;
        const statuses = [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map((match) => match[1]!);
        if (statuses.length >= count) return statuses;
      }
      throw new Error(`the connection ended after ${text}`);
    }
  });
});
