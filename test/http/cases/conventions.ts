/** Section 1 of the contract: what holds for every call. */
import { get, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { type Client, expectError, latest, pinned, UNKNOWN_RUN } from '../client.js';

export function conventions(client: () => Client): void {
  describe('bodies', () => {
    it.each([
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'application/json; charset=utf-16',
    ])('as %s are 415', async (type) => {
      const body = '{"workflowName":"echo","input":1}';
      const reply = await client().post('/workflow/start', body, { 'content-type': type });
      expectError(reply, 415, 'UnsupportedMediaTypeError');
    });

    it('are 415 on routes that read none, and on all that take one', async () => {
      const run = await client().start('collects');
      const routes: [string, string][] = [
        ['POST', '/workflow/run'],
        ['POST', '/workflow/start'],
        ['POST', '/heartbeat'],
        ['POST', '/backup'],
        ['PATCH', `${pinned(run)}/stop`],
        ['PATCH', `${latest(run)}/stop`],
        ['POST', `${pinned(run)}/terminate`],
        ['POST', `${latest(run)}/terminate`],
        ['POST', `${pinned(run)}/reset`],
        ['POST', `${latest(run)}/reset`],
        ['POST', `${pinned(run)}/pause`],
        ['POST', `${pinned(run)}/resume`],
        ['PATCH', `${pinned(run)}/budget`],
        ['POST', `${latest(run)}/feedback`],
        ['POST', `${latest(run)}/signal/add`],
        ['POST', `${latest(run)}/query/seen`],
        ['POST', `${latest(run)}/update/put`],
        ['POST', `${latest(run)}/stream-ticket`],
      ];
      for (const [method, path] of routes) {
        const asText = { body: 'x', headers: { 'content-type': 'text/plain' } };
        expectError(await client().call(method, path, asText), 415, 'UnsupportedMediaTypeError');
        expectError(await client().call(method, path, { body: '{"a":' }), 400, 'InvalidJsonError');
        const large = `{"a":"${'x'.repeat(2 * 1024 * 1024)}"}`;
        expectError(await client().call(method, path, { body: large }), 413, 'PayloadTooLargeError');
        const deep = `${'['.repeat(200)}${']'.repeat(200)}`;
        expectError(await client().call(method, path, { body: deep }), 400, 'ValidationError');
      }
      expect((await client().get(`${latest(run)}/status`)).body.status).toBe('running');
      expect((await client().post(`${latest(run)}/query/seen`)).body).toEqual([]);
    });

    it('that are empty have no type that could be wrong', async () => {
      const types = ['application/x-www-form-urlencoded', 'text/plain', 'application/json'];
      for (const type of types) {
        const reply = await client().call('POST', '/heartbeat', { headers: { 'content-type': type } });
        expect(reply.status).toBe(204);
      }
    });

    it.each([
      ['nested too deeply', `${'['.repeat(200)}${']'.repeat(200)}`, 'too_deep'],
      ['of too many values', `[${'1,'.repeat(300_000)}1]`, 'too_many_values'],
      ['with a number that JSON cannot give back', '1e400', 'too_big'],
    ])('%s are refused', async (_what, input, code) => {
      const reply = await client().post('/workflow/start', `{"workflowName":"echo","input":${input}}`);
      expectError(reply, 400, 'ValidationError');
      expect(reply.body.issues[0]).toMatchObject({ code });
    });
  });

  describe('paths', () => {
    it.each([
      ['GET', '/nothing'],
      ['GET', '/workflow'],
      ['POST', '/workflow/x/nothing'],
    ])('%s %s is 404', async (method, path) => {
      expectError(await client().call(method, path), 404, 'NotFoundError');
    });

    it.each([
      ['GET', '/workflow/run', 'POST'],
      ['DELETE', '/workflow/runs', 'GET, HEAD'],
      ['GET', '/workflow/x/stop', 'PATCH'],
      ['POST', '/workflow/x/history', 'GET, HEAD'],
      ['GET', '/workflow/x/signal/y', 'POST'],
      ['PATCH', '/heartbeat', 'POST'],
      ['OPTIONS', '/openapi.json', 'GET, HEAD'],
    ])('%s %s is 405 and says what is allowed', async (method, path, allow) => {
      const reply = await client().call(method, path);
      expectError(reply, 405, 'MethodNotAllowedError');
      expect(reply.headers.get('allow')).toBe(allow);
    });

    it.each(['a/b', 'a..b', '%2F', 'ü', '🦊', ' spaces ', 'a?b#c', "'; --", '\\', 'runs', 'x'.repeat(255)])(
      'carry the id %j',
      async (workflowId) => {
        const run = await client().ended('echo', workflowId, { workflowId });
        expect(run.workflowId).toBe(workflowId);
        expect((await client().get(`${pinned(run)}/status`)).body).toMatchObject({
          ...run,
          status: 'completed',
        });
      },
    );

    it.each([
      ['a control character', '/workflow/a%00b/status'],
      ['more than 255 characters', `/workflow/${'x'.repeat(256)}/status`],
      ['the reserved id', `/workflow/catalog/runs/${UNKNOWN_RUN}/status`],
      ['broken percent-encoding', '/workflow/%zz/status'],
      ['a run id that is no UUID', '/workflow/x/runs/1/status'],
      ['a catalog with a space', '/workflow/catalog/a%20b'],
      ['a file of the docs that is none', '/docs/LICENSE'],
    ])('with %s are 400', async (_what, path) => {
      expectError(await client().get(path), 400, 'ValidationError');
    });

    it.each(['status', 'result', 'input', 'history', 'trace-log'])('of %s are checked', async (what) => {
      expectError(await client().get(`/workflow/a%00b/${what}`), 400, 'ValidationError');
      expectError(await client().get(`/workflow/a/runs/b/${what}`), 400, 'ValidationError');
    });

    it.each(['.', '..'])('carry the id %s, from clients that send it as it is', async (workflowId) => {
      // A URL of the web has no such parts, so this is not for fetch.
      const run = await client().start('collects', null, { workflowId });
      const { hostname, port } = new URL(client().url);
      const path = `/workflow/${workflowId.replaceAll('.', '%2e')}/status`;
      const response = await new Promise<IncomingMessage>((resolve, reject) => {
        get({ hostname, port, path }, resolve).on('error', reject);
      });
      expect(JSON.parse(await text(response))).toMatchObject({ ...run, status: 'running' });
      // Who cannot send it as it is puts a character before it that no id can have.
      const escaped = `/workflow/%1B${workflowId}`;
      expect((await client().get(`${escaped}/status`)).body).toMatchObject({ ...run, status: 'running' });
      const one = `${escaped}/runs/${run.runId}`;
      expect((await client().get(`${one}/history`)).body).toMatchObject({ workflow: run });
      // Until its first turn is over it waits for nobody's signal.
      await expect
        .poll(async () => (await client().get(`${one}/why`)).body)
        .toMatchObject({
          reasons: [{ action: expect.stringContaining(`/workflow/%1B${workflowId}/signal/`) }],
        });
      expectError(await client().get(`/workflow/%1B${workflowId}x/status`), 400, 'ValidationError');
      await client().post(`${one}/terminate`, {});
    });

    it('take a run id in capitals', async () => {
      const run = await client().ended('echo');
      const reply = await client().get(`${latest(run)}/runs/${run.runId.toUpperCase()}/status`);
      expect(reply.body.runId).toBe(run.runId);
    });

    it('find no other id and no other run of it', async () => {
      const run = await client().ended('echo');
      const other = await client().ended('echo');
      const paths = (suffix: string) => [
        `/workflow/unknown/${suffix}`,
        `${latest(run)}/runs/${UNKNOWN_RUN}/${suffix}`,
        `${latest(run)}/runs/${other.runId}/${suffix}`,
      ];
      for (const what of ['status', 'result', 'result?wait=1', 'input', 'history', 'trace-log']) {
        for (const path of paths(what)) expectError(await client().get(path), 404, 'WorkflowNotFoundError');
      }
      const stepName = { stepName: 'first' };
      for (const path of paths('reset'))
        expectError(await client().post(path, stepName), 404, 'WorkflowNotFoundError');
      for (const path of paths('terminate'))
        expectError(await client().post(path), 404, 'WorkflowNotFoundError');
      for (const path of paths('stop')) expectError(await client().patch(path), 404, 'WorkflowNotFoundError');
      for (const what of ['feedback', 'signal/x', 'query/x', 'update/x']) {
        expectError(await client().post(`/workflow/unknown/${what}`), 404, 'WorkflowNotFoundError');
      }
    });
  });

  describe('answers', () => {
    it("carry the caller's request id, or one of their own", async () => {
      const own = await client().get('/nothing', { headers: { 'x-request-id': 'My-id_1' } });
      expect(own.headers.get('x-request-id')).toBe('My-id_1');
      const made = await client().get('/health', { headers: { 'x-request-id': 'not valid!' } });
      expect(made.headers.get('x-request-id')).toMatch(/^[A-Za-z0-9_-]{1,128}$/);
    });

    it('ignore unknown query keys, and take null for what may be left out', async () => {
      const nulls = { workflowId: null, catalog: null, taskQueue: null };
      const run = await client().start('collects', null, nulls);
      expect((await client().get(`${latest(run)}/status?colour=red&__proto__=1`)).status).toBe(200);
      const reply = await client().post(`${pinned(run)}/terminate?x=1`, { reason: null });
      expect(reply.status).toBe(200);
    });

    it.each([
      ['/workflow/start', { workflowName: 'echo', input: 1, workflowID: 'a' }, 'workflowID', 'workflowId'],
      ['/workflow/start', { workflowName: 'echo', input: 1, timeout: 1 }, 'timeout', undefined],
      ['/workflow/run', { workflowName: 'echo', input: 1, timeoutMs: 5 }, 'timeoutMs', 'timeout'],
      ['/workflow/x/terminate', { resaon: 'enough' }, 'resaon', 'reason'],
      ['/workflow/x/reset', { stepName: 'first', ocurrence: 1 }, 'ocurrence', 'occurrence'],
      ['/workflow/x/stream-ticket', { for: 'me' }, 'for', undefined],
    ])('of %s to %j name the field that is not known', async (path, body, field, meant) => {
      const reply = await client().post(path, body);
      expectError(reply, 400, 'ValidationError');
      expect(reply.body.issues).toEqual([
        {
          path: [field],
          message: expect.stringMatching(
            meant
              ? `unknown field "${field}": did you mean "${meant}"\\?`
              : `unknown field "${field}": there`,
          ),
          code: 'unrecognized_keys',
        },
      ]);
    });

    it('of the run list name the filter that is not known', async () => {
      const reply = await client().get('/workflow/runs?workflowtype=echo&limit=1');
      expectError(reply, 400, 'ValidationError');
      expect(reply.body.issues).toEqual([
        {
          path: ['workflowtype'],
          message: 'unknown query parameter "workflowtype": did you mean "workflowType"?',
          code: 'unrecognized_keys',
        },
      ]);
    });

    it('to a malformed request are of the same form', async () => {
      const { hostname, port } = new URL(client().url);
      const answer = await new Promise<string>((resolve, reject) => {
        const socket = connect(Number(port), hostname, () => socket.write('NONSENSE\r\n\r\n'));
        text(socket).then(resolve, reject);
      });
      expect(answer).toMatch(/^HTTP\/1\.1 400 /);
      expect(answer).toMatch(/X-Request-ID: /);
      expect(JSON.parse(answer.split('\r\n\r\n')[1]!)).toMatchObject({ error: 'ValidationError' });
    });
  });
}
