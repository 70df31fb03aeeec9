/** Stop, terminate and reset, each pinned and in the deprecated form. */
import { describe, expect, it } from 'vitest';
import { type Client, expectError, latest, pinned, type Ref, type Reply, until } from '../client.js';

export function control(client: () => Client): void {
  describe.each(['latest', 'pinned'])('the %s run', (form) => {
    const path = (run: Ref) => (form === 'latest' ? latest(run) : pinned(run));

    /** Both forms do the same; only the deprecated one says so. */
    const expectDeprecation = ({ headers }: Reply, successor: string) => {
      const told = ['deprecation', 'sunset', 'link'].map((name) => headers.get(name));
      if (form === 'pinned') expect(told).toEqual([null, null, null]);
      else {
        expect(told).toEqual([
          expect.stringMatching(/^@\d+$/),
          'Thu, 16 Jul 2026 00:00:00 GMT',
          `<${successor}>; rel="successor-version"`,
        ]);
      }
    };

    describe('PATCH stop', () => {
      it('cancels the run, whose cleanup goes on; a repeat is 200', async () => {
        const run = await client().start('cleansUp');
        const stopped = await client().patch(`${path(run)}/stop`);
        expect(stopped.status).toBe(200);
        expect(stopped.body).toEqual({ ...run, status: 'running' });
        expectDeprecation(stopped, `${pinned(run)}/stop`);
        expect((await client().patch(`${path(run)}/stop`, {})).body).toEqual({ ...run, status: 'running' });
        expect((await client().get(`${path(run)}/result`)).status).toBe(424);
        await client().post(`${latest(run)}/signal/mayEnd`);
        const { body } = await client().result(run);
        expect(body).toMatchObject({ status: 'cancelled', output: null, error: { name: 'CancelledError' } });
        const { events } = (await client().get(`${pinned(run)}/history?pageSize=1000`)).body;
        const names = (events as { eventTypeName: string }[]).map(({ eventTypeName }) => eventTypeName);
        expect(names).toContain('ACTIVITY_TASK_COMPLETED');
        expect(names.filter((name) => name === 'WORKFLOW_EXECUTION_CANCEL_REQUESTED')).toHaveLength(1);
      });

      it('is 200 on a closed run, changes nothing and says what the run is', async () => {
        const completed = await client().ended('echo');
        const terminated = await client().start('hangs');
        await client().post(`${path(terminated)}/terminate`);
        for (const [run, status] of [
          [completed, 'completed'],
          [terminated, 'terminated'],
        ] as const) {
          const { body: before } = await client().get(`${pinned(run)}/status`);
          for (const _ of [1, 2]) {
            const reply = await client().patch(`${path(run)}/stop`);
            expect(reply.status).toBe(200);
            expect(reply.body).toEqual({ ...run, status });
            expectDeprecation(reply, `${pinned(run)}/stop`);
          }
          expect((await client().get(`${pinned(run)}/status`)).body).toEqual(before);
        }
      });

      it('takes no body', async () => {
        const run = await client().start('collects');
        const reply = await client().patch(`${path(run)}/stop`, { reason: 'x' });
        expectError(reply, 400, 'ValidationError');
        expect(reply.body.issues).toEqual([
          { path: ['reason'], message: 'unknown field "reason": there are none', code: 'unrecognized_keys' },
        ]);
        expect((await client().get(`${path(run)}/status`)).body.status).toBe('running');
      });

      it('is 400 for an id or a run id that cannot be', async () => {
        const base = form === 'latest' ? '/workflow/catalog' : '/workflow/x/runs/1';
        expectError(await client().patch(`${base}/stop`), 400, 'ValidationError');
        expectError(await client().post(`${base}/terminate`), 400, 'ValidationError');
        expectError(await client().post(`${base}/reset`, { stepName: 'x' }), 400, 'ValidationError');
      });
    });

    describe('POST terminate', () => {
      it.each([
        ['a reason', { reason: 'enough of it' }, 'enough of it'],
        ['no reason', {}, 'The workflow was terminated'],
        ['null', null, 'The workflow was terminated'],
        ['no body', undefined, 'The workflow was terminated'],
      ])('with %s closes the run at once, without cleanup', async (_what, body, message) => {
        const run = await client().start('hangs');
        const reply = await client().post(`${path(run)}/terminate`, body);
        expect(reply.body).toEqual({ terminated: true, ...run });
        expectDeprecation(reply, `${pinned(run)}/terminate`);
        expect((await client().get(`${path(run)}/result`)).body).toMatchObject({
          status: 'terminated',
          output: null,
          error: { name: 'TerminatedError', message },
        });
        expectError(await client().post(`${path(run)}/terminate`), 409, 'WorkflowAlreadyClosedError');
      });

      it('refuses a reason that is no text, and a body that is no object', async () => {
        const run = await client().start('collects');
        for (const reason of [1, 'half a \ud83d', '\udc00']) {
          expectError(await client().post(`${path(run)}/terminate`, { reason }), 400, 'ValidationError');
        }
        expectError(await client().post(`${path(run)}/terminate`, '[]'), 400, 'ValidationError');
        expect((await client().get(`${path(run)}/status`)).body.status).toBe('running');
      });
    });

    describe('POST reset', () => {
      const reset = (run: Ref, body: unknown) => client().post(`${path(run)}/reset`, body);
      const output = async (run: Ref) => (await client().result(run)).body.output;

      it('replays a closed run up to the step and runs the rest again', async () => {
        const run = await client().ended('threeSteps');
        const { values } = await output(run);
        const reply = await reset(run, { stepName: 'second', reason: 'try again' });
        expect(reply.status).toBe(200);
        expect(Object.keys(reply.body)).toEqual(['workflowId', 'runId']);
        expect(reply.body.workflowId).toBe(run.workflowId);
        expect(reply.body.runId).not.toBe(run.runId);
        expectDeprecation(reply, `${pinned(reply.body)}/reset`);
        const again = await output(reply.body);
        expect(again.values.slice(0, 2)).toEqual(values.slice(0, 2));
        expect(again.values[2]).not.toBe(values[2]);
        // The old run stays as it was.
        expect((await client().get(`${pinned(run)}/result`)).body.output.values).toEqual(values);
        expect((await client().get(`${latest(run)}/status`)).body.runId).toBe(reply.body.runId);
      });

      it('terminates an open run and delivers later signals again', async () => {
        const run = await client().start('threeSteps', 'wait');
        const waits = () => client().get(`${pinned(run)}/history?pageSize=1000`);
        await until(async () => (await waits()).text.match(/ACTIVITY_TASK_COMPLETED/g)?.length === 3);
        await client().post(`${latest(run)}/signal/add`, { payload: 'late' });
        expect((await client().post(`${latest(run)}/query/added`)).body).toBe(1);
        const { body: next } = await reset(run, { stepName: 'first' });
        expect((await client().get(`${pinned(run)}/result`)).body).toMatchObject({ status: 'terminated' });
        await client().post(`${latest(run)}/signal/finish`);
        expect((await output(next)).added).toEqual(['late']);
      });

      it('to the start runs all of it again with the same input, open or closed', async () => {
        const closed = await client().ended('threeSteps', { same: 'input' });
        const open = await client().start('hangs', 'input');
        await until(async () =>
          (await client().get(`${pinned(open)}/history?pageSize=1000`)).text.includes('"stuck"'),
        );
        for (const run of [closed, open]) {
          const { body: input } = await client().get(`${pinned(run)}/input`);
          const reply = await reset(run, { toStart: true, reason: 'from the beginning', stepName: null });
          expect(reply.status).toBe(200);
          expect(reply.body.runId).not.toBe(run.runId);
          expectDeprecation(reply, `${pinned(reply.body)}/reset`);
          expect((await client().get(`${pinned(reply.body)}/input`)).body.input).toEqual(input.input);
        }
        const { values } = await output(closed);
        const before = (await client().get(`${pinned(closed)}/result`)).body.output.values as string[];
        expect(values.filter((value: string) => before.includes(value))).toEqual([]);
        expect((await client().get(`${pinned(open)}/result`)).body).toMatchObject({
          status: 'terminated',
          error: { message: 'reset to the start: from the beginning' },
        });
      });

      it('to the start is for a run whose first step failed', async () => {
        const run = await client().ended('declined', 7);
        const reply = await reset(run, { toStart: true });
        expect(reply.status).toBe(200);
        expect((await client().result(run)).body).toMatchObject({ runId: reply.body.runId, input: 7 });
      });

      it('picks one of several executions, by default the last completed', async () => {
        const run = await client().ended('repeats');
        const values = await output(run);
        const last = await output((await reset(run, { stepName: 'first', occurrence: null })).body);
        expect(last).toEqual(values);
        const pin = { ...run };
        const second = await client().post(`${pinned(pin)}/reset`, { stepName: 'first', occurrence: 2 });
        const again = await output(second.body);
        expect(again.slice(0, 2)).toEqual(values.slice(0, 2));
        expect(again[2]).not.toBe(values[2]);
      });

      it('is 404 for a step that is not there, 409 for one that has not completed', async () => {
        const run = await client().start('hangs');
        const events = () => client().get(`${pinned(run)}/history?pageSize=1000`);
        await until(async () => (await events()).text.includes('"stepName":"stuck"'));
        expectError(await reset(run, { stepName: 'unknown' }), 404, 'StepNotFoundError');
        expectError(await reset(run, { stepName: 'first', occurrence: 2 }), 404, 'StepNotFoundError');
        expectError(await reset(run, { stepName: 'stuck' }), 409, 'StepNotCompletedError');
        expect((await client().get(`${path(run)}/status`)).body.status).toBe('running');
      });

      it.each([
        ['no body', undefined],
        ['no step', {}],
        ['a bad name', { stepName: 'a b' }],
        ['occurrence 0', { stepName: 'first', occurrence: 0 }],
        ['occurrence 1.5', { stepName: 'first', occurrence: 1.5 }],
        ['a step and the start', { stepName: 'first', toStart: true }],
        ['toStart false', { toStart: false }],
        ['toStart null', { toStart: null }],
        ['an occurrence of the start', { toStart: true, occurrence: 1 }],
        ['a mistyped step', { step: 'first' }],
        ['a reason that is no text', { stepName: 'first', reason: [] }],
        ['a reason with half a character', { stepName: 'first', reason: 'cut \ud83d' }],
      ])('refuses %s', async (_what, body) => {
        const run = await client().ended('repeats');
        expectError(await reset(run, body), 400, 'ValidationError');
      });
    });
  });
}
