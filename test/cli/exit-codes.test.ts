/** What a script is told when a server is lost at the worst moment, or is none: by servers that answer as no real one would on demand. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type Answerer,
  error,
  hangUp,
  json,
  ScriptedServer,
  silence,
  stream,
} from '../../src/client/scripted-server.fixture.js';
import { takeOneIn } from '../share.js';
import { begin, type CallOptions, call } from './shell.js';

takeOneIn(2);

const RUN = '01900000-0000-7000-8000-000000000001';
const OURS = { 'x-request-id': '1' };
const ok = (body: object) => json(200, body, OURS);
const catalog = ok({ catalog: 'default', workflows: [{ name: 'adds', aliases: [], inputSchema: null }] });
const started = ok({ workflowId: 'w', runId: RUN });
const events = stream([
  `id: ${RUN}/1\nevent: history\ndata: [{"eventId":"1","eventTypeName":"WORKFLOW_EXECUTION_COMPLETED","eventTime":"2026-01-01T00:00:00.000Z"}]\n\n`,
]);
const finished: Answerer = (response, received) => {
  response.setHeader('x-request-id', '1');
  return events(response, received);
};

/** Of a server of another version. */
const unreadable: Answerer = (response, received) => {
  response.setHeader('x-request-id', '1');
  return stream([
    `id: ${RUN}/1\nevent: history\ndata: [{"eventId":"1","eventTypeName":"TIMER_STARTED"}]\n\n`,
  ])(response, received);
};

let server: ScriptedServer;
beforeEach(async () => {
  server = await new ScriptedServer().listen();
});
afterEach(() => server.close());

const options = (): CallOptions => ({ env: { PERDURE_SERVER: server.url, PERDURE_PATIENCE: '300ms' } });
const perdure = (...args: string[]) => call(args, options());

describe('a start whose answer was lost ends with 3, so that no script starts twice', () => {
  it.each<[string, Answerer, RegExp]>([
    ['the connection broke', hangUp, /it may be running, look with `perdure list`/],
    [
      'a proxy answered in place of the server',
      (response) => void response.writeHead(504, { 'content-type': 'text/html' }).end('<h1>Timeout</h1>'),
      /may be running/,
    ],
    ['the server does not know what its engine did', error(503, 'EngineUnavailableError'), /may be running/],
    ['the server has failed on the way', error(500, 'InternalError'), /may be running/],
  ])('%s', async (_what, lost, says) => {
    for (const command of ['start', 'run']) {
      server.script(catalog, lost);
      const ended = await perdure(command, 'adds', '1');
      expect([ended.code, ended.stdout]).toEqual([3, '']);
      expect(ended.stderr).toMatch(says);
      await server.close();
      server = await new ScriptedServer().listen();
    }
  });

  it('and the server is gone after that', async () => {
    server.script(catalog, (response) => {
      response.destroy();
      void server.close();
    });
    const { code, stderr } = await perdure('start', 'adds', '1', '--id', 'mine');
    expect(stderr).toMatch(/may be running, look with `perdure status mine`/);
    expect(code).toBe(3);
  });

  it('but with 5 when it surely was not sent', async () => {
    server.script((response, received) => {
      response.setHeader('connection', 'close');
      void catalog(response, received);
      void server.close();
    });
    const { code, stderr } = await perdure('start', 'adds', '1');
    expect(stderr).toMatch(/no answer from .*ECONNREFUSED/);
    expect(code).toBe(5);
  });

  it('and with 130 when it was interrupted', async () => {
    server.script(catalog, silence);
    const running = begin(['start', 'adds', '1'], options());
    await expect.poll(() => server.received.length).toBe(2);
    running.child.kill('SIGINT');
    const { code, stderr } = await running.ended;
    expect(stderr).toMatch(/interrupted while adds was started: it may be running/);
    expect(code).toBe(130);
  });
});

describe('what would happen twice if it were sent twice ends with 3 when its answer was lost', () => {
  const status = ok({ workflowId: 'w', runId: RUN, status: 'running', workflowType: 'adds', catalog: 'c' });
  const sends: [string, string[], Answerer[], string][] = [
    ['a signal', ['signal', 'w', 'go'], [status, catalog], 'history'],
    ['an update', ['update', 'w', 'push'], [status, catalog], 'history'],
    ['feedback', ['feedback', 'w'], [status], 'history'],
    ['a reset', ['reset', 'w', '--to-start'], [status, status], 'status'],
  ];

  it.each(sends)('%s', async (_what, args, before, look) => {
    server.script(...before, hangUp);
    const { code, stdout, stderr } = await perdure(...args);
    expect(stderr).toMatch(
      new RegExp(
        `^perdure: there was no answer .*; the ${args[0]} may have been taken: look with \`perdure ${look} w\``,
      ),
    );
    expect([code, stdout]).toEqual([3, '']);
    expect(server.received.filter(({ method }) => method === 'POST')).toHaveLength(1);
  });

  it('but with 5 when there is nobody to send it to', async () => {
    server.script(hangUp);
    expect(await perdure('feedback', 'w')).toMatchObject({ code: 5, stdout: '' });
  });

  it('a reset of several, with how far it came', async () => {
    server.script(status, status, started, status, status, error(500, 'InternalError', {}, OURS));
    const { code, stderr } = await perdure('reset', '--to-start', 'a', 'b', 'c');
    expect(stderr).toMatch(
      /^1 of 3 reset, b may be, and those after it are as they were\nperdure: there was no answer .*; the reset may have been taken/,
    );
    expect(code).toBe(3);
  });
});

describe('a run that was started and is lost ends with 3, whatever it was lost by', () => {
  const proxy: Answerer = (response) => void response.writeHead(502).end('<h1>Bad gateway</h1>');
  it.each<[string, Answerer[]]>([
    ['a proxy answers for the stream', [proxy]],
    ['the engine is away', [error(503, 'EngineUnavailableError')]],
    ['the token is not taken any longer', [error(401, 'UnauthorizedError')]],
    ['the result cannot be had', [finished, hangUp]],
    ['a proxy answers for the result', [finished, proxy]],
    ['its events cannot be read', [unreadable]],
  ])('%s', async (_what, answers) => {
    server.script(catalog, started, ...answers);
    const { code, stdout, stderr } = await perdure('run', 'adds', '1');
    expect(stderr).toMatch(
      /w was started, but watching it was lost .*do not start it again.*perdure watch w/,
    );
    expect([code, stdout]).toEqual([3, '']);
    expect(server.received.filter(({ method }) => method === 'POST')).toHaveLength(1);
  });
});

describe('other answers', () => {
  it.each<[string, Answerer, number, RegExp]>([
    ['too many requests', error(429, 'TooManyRequestsError', {}, OURS), 5, /TooManyRequestsError/],
    ['no engine', error(503, 'EngineUnavailableError', {}, OURS), 5, /EngineUnavailableError/],
    ['no such run', error(404, 'WorkflowNotFoundError', {}, OURS), 4, /perdure list/],
    ['no token', error(401, 'UnauthorizedError', {}, OURS), 2, /asks for a token \(none\)/],
    ['a bug', error(500, 'InternalError', {}, OURS), 1, /InternalError/],
    [
      'another shape',
      ok({ runId: RUN, startedAt: 'x' }),
      5,
      /cannot read .*a perdure server, and of this version\?/,
    ],
    [
      'a page for people',
      (response) => void response.writeHead(404).end('<html>\n<body>\n\n<h1>Not here</h1>\n</body></html>'),
      5,
      /answered 404 with something that is not of this API: <html> <body> <h1>Not here.* a perdure server\?/,
    ],
    [
      'an error of another program',
      error(400, 'ValidationError', { issues: [null] }, OURS),
      5,
      /answered 400 with something that is not of this API/,
    ],
  ])('%s', async (_what, answer, code, says) => {
    server.script(answer);
    const ended = await perdure('status', 'w');
    expect(ended.stderr).toMatch(says);
    expect([ended.code, ended.stdout]).toEqual([code, '']);
  });

  it.each([
    [['status', 'w', '--json']],
    [['result', 'w', '--no-wait']],
    [['input', 'w']],
    [['list', '--json']],
    [['stop', 'w']],
    [['stop', 'w', 'x']],
    [['watch', 'w']],
    [['backup', 'none.db']],
  ])('of another program that answers with JSON: %j', async (args) => {
    server.script(ok({ of: 'another program' }));
    const ended = await perdure(...args);
    expect(ended.stderr).toMatch(
      /^perdure: .* (is not of this API|is no database).* a perdure server\?.*\n$/,
    );
    expect([ended.code, ended.stdout]).toEqual([5, '']);
  });

  it('of completions that take too long are none', async () => {
    server.script(silence);
    const ended = await perdure('__words', 'workflows');
    expect(ended.stderr).toMatch(/^perdure: no answer from .* \(No answer within \d+ ms\).*\n$/);
    expect([ended.code, ended.stdout]).toEqual([5, '']);
  });

  it('says how far it came when the server is lost in the middle of many', async () => {
    const status = ok({ workflowId: 'w', runId: RUN, status: 'running' });
    server.script(status, ok({ workflowId: 'w', runId: RUN, terminated: true }), hangUp);
    const ended = await perdure('terminate', 'a', 'b', 'c');
    expect(ended.stderr).toMatch(
      /^1 of 3 terminated, b may be, and those after it are as they were\nperdure: no answer from /,
    );
    expect(ended.code).toBe(5);
  });

  it.each([
    [401, 'UnauthorizedError', 2, /asks for a token .*--token/],
    [429, 'TooManyRequestsError', 5, /TooManyRequestsError/],
  ])('asks for no other where none is taken: %d', async (status, name, code, says) => {
    server.script(error(status, name, {}, OURS));
    const ended = await perdure('terminate', 'a', 'b', 'c');
    expect(ended.stderr).toMatch(/^perdure: .*\n$/);
    expect(ended.stderr).toMatch(says);
    expect(ended.code).toBe(code);
    expect(server.received).toHaveLength(1);
  });

  it('does not take a run for stopped that another one has taken the place of', async () => {
    const runs = ['w', 'x'].map((workflowId) => ({ workflowId, runId: RUN, status: 'running' }));
    server.script(
      ok({ runs, count: 2, nextCursor: null }),
      ok({ workflowId: 'w', runId: RUN, status: 'continued_as_new' }),
      ok({ workflowId: 'x', runId: RUN, status: 'running' }),
    );
    const ended = await perdure('stop', '--filter', 'status=running', '--yes');
    expect(ended.stderr).toMatch(
      /\n1 of 2 asked to stop\nperdure: 1 could not be:\n {2}w: it was continued as new meanwhile, and goes on\n$/,
    );
    expect(ended.code).toBe(1);
  });

  it('says of a run that had ended that nothing was done to it', async () => {
    server.script(ok({ workflowId: 'w', runId: RUN, status: 'completed' }));
    const ended = await perdure('stop', 'w', '--run', RUN);
    expect(ended).toMatchObject({ code: 0, stderr: 'w had ended before: completed\n' });
  });
});
