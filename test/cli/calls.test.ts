/** Every command that calls a server, in a pipe and in a terminal, with every exit code. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, type TestContext } from 'vitest';
import { Workplace } from '../../src/cli/program.fixture.js';
import { createClient } from '../../src/client/index.js';
import { json as answerOf, ScriptedServer } from '../../src/client/scripted-server.fixture.js';
import { takeOneIn } from '../share.js';
import {
  begin,
  beginInTerminal,
  type CallOptions,
  call,
  hasTerminal,
  type TerminalOptions,
  withoutEscapes,
} from './shell.js';

takeOneIn(3);

const WORKFLOWS = fileURLToPath(new URL('workflows', import.meta.url));
const TOKEN = 'a-token-that-is-long-enough-for-tests';

let workplace: Workplace;
let env: Record<string, string>;
beforeAll(async () => {
  workplace = new Workplace();
  const args = ['--workflows', WORKFLOWS, '--workers', '1', '--spare-workers', '0'];
  const server = await workplace.serve(args, { API_AUTH_TOKEN: TOKEN });
  env = { PERDURE_SERVER: server.url, API_AUTH_TOKEN: TOKEN };
});
afterAll(() => workplace.clear());

const perdure = (args: string[], options: CallOptions = {}) =>
  call(args, { ...options, env: { ...env, ...options.env } });
const json = async (args: string[]) => JSON.parse((await perdure([...args, '--json'])).stdout);

function inTerminal(context: TestContext, args: string[], options: TerminalOptions = {}) {
  if (!hasTerminal()) context.skip('there is no `script` on this machine, which gives a program a terminal');
  return beginInTerminal(args, { ...options, env: { ...env, ...options.env } });
}

/** Not by the command line, which has its own tests: there are many. */
async function start(workflow: string, workflowId: string, input: unknown): Promise<void> {
  await createClient({ baseUrl: env.PERDURE_SERVER!, token: TOKEN })
    .workflow(workflow)
    .start(input, { workflowId });
}

let ids = 0;
/** A run that waits for its signal. */
async function waiting(): Promise<string> {
  const id = `waiting-${++ids}`;
  await start('waits', id, { steps: 1 });
  return id;
}

describe('run', () => {
  it('prints what the workflow returns, and what it does beside', async () => {
    const { code, stdout, stderr } = await perdure(['run', 'adds', '{"a":1,"b":2}']);
    expect([code, stdout]).toEqual([0, '3\n']);
    expect(stderr).toMatch(
      /^adds adds-\w+\n\d\d:\d\d:\d\d {2}step add started\n.*step add done \(.*\)\n.*completed\n$/s,
    );
  });

  it.each([
    ['a file', ['--input', '@FILE'], undefined],
    ['an option', ['--input', '{"a":1,"b":2}'], undefined],
    ['standard input', [], '{"a":1,"b":2}'],
    ['standard input by its name', ['-'], '{"a":1,"b":2}'],
  ])('takes its input from %s', async (_what, args, input) => {
    const file = join(workplace.folder, 'input.json');
    writeFileSync(file, '{"a":1,"b":2}');
    const given = args.map((each) => each.replace('FILE', file));
    expect(await perdure(['workflow', 'run', 'adds', ...given], { input })).toMatchObject({
      code: 0,
      stdout: '3\n',
    });
  });

  it('prints the answer of the API and nothing else with --json', async () => {
    const body = await json(['run', 'adds', '{"a":1,"b":2}']);
    expect(body).toMatchObject({ v: '2', status: 'completed', output: 3, error: null });
  });

  it('ends with 1 when the workflow fails, and says why', async () => {
    const { code, stdout, stderr } = await perdure(['run', 'fails', 'null']);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/step refuse failed \(.*CardError: declined\)/);
    expect(stderr).toMatch(/perdure: fails-\w+ failed: declined\n/);
    const body = await perdure(['run', 'fails', '--json']);
    expect(body.code).toBe(1);
    expect(JSON.parse(body.stdout)).toMatchObject({ status: 'failed', error: { name: 'CardError' } });
  });

  it('names what to do next so that it can be pasted', async () => {
    const { stderr } = await perdure(['start', 'adds', '{"a":1,"b":2}', '--id', `it's a run`]);
    expect(stderr).toContain(`perdure watch 'it'\\''s a run'`);
  });

  it('is not needed to start: the id comes on standard output, what to do next beside', async () => {
    const { code, stdout, stderr } = await perdure(['start', 'waits', '{"steps":1}', '--id', 'begun']);
    expect([code, stdout]).toEqual([0, 'begun\n']);
    expect(stderr).toMatch(/perdure watch begun/);
  });

  it('draws the run in a terminal, no wider than it is', async (context) => {
    const running = inTerminal(context, ['run', 'adds', '{"a":1,"b":2,"wait":"1s"}'], { columns: 40 });
    const { code, stdout } = await running.ended;
    expect(code).toBe(0);
    const text = withoutEscapes(stdout);
    expect(text).toMatch(/✓ step add/);
    expect(text).toMatch(/● timer \(fires in \d+ ms\)/);
    expect(text).toMatch(/completed\r?\n3\r?\n$/);
    for (const line of text.split(/\r?\n/))
      expect([...line.replace(/^.*\r/, '')].length).toBeLessThanOrEqual(40);
  });

  it('leaves the run alone at Ctrl-C, says so with its id and ends with 130', async (context) => {
    const running = inTerminal(context, ['run', 'waits', '{"steps":1}', '--id', 'interrupted']);
    await expect.poll(() => running.stdout).toContain('✓');
    running.child.stdin!.write('\u0003');
    const { code, stdout } = await running.ended;
    expect(code).toBe(130);
    expect(withoutEscapes(stdout)).toMatch(
      /interrupted goes on\. `perdure watch interrupted` shows it again/,
    );
    expect(await json(['status', 'interrupted'])).toMatchObject({ status: 'running' });
  });

  it('ends with 3 when the server is lost after the start, and starts nothing twice', async () => {
    const run = '01900000-0000-7000-8000-000000000001';
    const server = await new ScriptedServer().listen();
    const json200 = (body: object) => answerOf(200, body, { 'x-request-id': '1' });
    server.script(
      json200({ catalog: 'default', workflows: [{ name: 'adds', aliases: [], inputSchema: null }] }),
      json200({ workflowId: 'w', runId: run }),
      // Closed for good: a refusal would be an answer.
      (response) => {
        response.destroy();
        void server.close();
      },
    );
    const lost = await perdure(['run', 'adds', '1'], {
      env: { PERDURE_SERVER: server.url, PERDURE_PATIENCE: '1s' },
    });
    expect(lost.code).toBe(3);
    expect(lost.stderr).toMatch(
      /w was started, but watching it was lost.*do not start it again.*perdure watch w/,
    );
    expect(server.received.filter(({ method }) => method === 'POST')).toHaveLength(1);
  });
});

describe('ids', () => {
  it('that begin with - are behind --, and what is said to do next works', async () => {
    const started = await perdure(['start', 'adds', '{"a":1,"b":2}', '--id', '-x']);
    expect(started.stdout).toBe('-x\n');
    const [, hinted] = /`perdure (result .*?)`/.exec(started.stderr)!;
    expect(hinted).toBe('result -- -x');
    expect(await perdure(hinted!.split(' '))).toMatchObject({ code: 0, stdout: '3\n' });
    const { code, stderr } = await perdure(['status', '-x']);
    expect(stderr).toMatch(/unknown option '-x': .* what begins with - but is none goes behind --\n$/);
    expect(code).toBe(2);
  });

  it.each(['a b', `'"$(id)\``, 'a/b', '%2F', '.', '🎉'])('may be %j', async (id) => {
    await start('adds', id, { a: 1, b: 2 });
    expect(await perdure(['result', id])).toMatchObject({ code: 0, stdout: '3\n' });
  });

  it.each(['', 'new\nline', 'x'.repeat(1_000)])('may not be %j', async (id) => {
    const { code, stderr } = await perdure(['status', id]);
    expect(stderr).toMatch(/^perdure: .*\n( {2}id: must be 1 to 255 characters.*\n)?$/);
    expect(code).toBe(2);
  });
});

describe('bad input', () => {
  const nowhere = { PERDURE_SERVER: 'http://127.0.0.1:1' };
  it.each<[string, string[], CallOptions, number, RegExp]>([
    [
      'a server that is not there',
      ['list'],
      { env: nowhere },
      5,
      /no answer from http:\/\/127\.0\.0\.1:1.*--server/,
    ],
    ['a server that is not there', ['run', 'adds', '1'], { env: nowhere }, 5, /perdure dev/],
    ['a wrong token', ['list'], { env: { API_AUTH_TOKEN: 'wrong' } }, 2, /refuses the token.*--token/],
    ['an unknown workflow', ['run', 'ads', '1'], {}, 4, /no workflow "ads": did you mean "adds"\?/],
    [
      'an unknown workflow like none',
      ['start', 'zzzzzzzz'],
      {},
      4,
      /it has adds, coerces, fails, plus, stumbles, waits/,
    ],
    [
      'an input that does not fit',
      ['start', 'adds', '{"a":1,"b":"x"}'],
      {},
      2,
      /input\.b: .*number.*Nothing was sent/s,
    ],
    ['an input that is missing', ['start', 'adds'], {}, 2, /does not fit workflow "adds"/],
    ['an input that is no JSON', ['start', 'adds', 'Ada'], {}, 2, /not JSON.*'"Ada"'/],
    ['an input that is nearly JSON', ['start', 'adds', '{a: 1}'], {}, 2, /not JSON.*double quotes/],
    ['a workflow that is missing', ['start'], {}, 2, /missing required argument 'workflow': --help/],
    ['a command that is none', ['lst'], {}, 2, /unknown command 'lst'\n\(Did you mean list\?\)/],
    ['two inputs', ['start', 'adds', '1', '--input', '2'], {}, 2, /given twice/],
    [
      'a file that is missing',
      ['start', 'adds', '--input', '@none.json'],
      {},
      2,
      /none\.json cannot be read \(ENOENT\)/,
    ],
    ['standard input that is no JSON', ['start', 'adds'], { input: '{' }, 2, /standard input is not JSON/],
    ['an id that does not exist', ['status', 'nobody'], {}, 4, /no workflow with id "nobody".*perdure list/],
    ['an id that does not exist', ['watch', 'nobody'], {}, 4, /nobody/],
    ['an id that does not exist', ['stop', 'nobody'], {}, 4, /nobody/],
    ['an id of dots that does not exist', ['status', '..'], {}, 4, /no workflow with id "\.\."/],
    ['a filter that is none', ['list', '--filter', 'stats=failed'], {}, 2, /no stats; did you mean status/],
    ['a filter without a value', ['list', '--filter', 'status'], {}, 2, /KEY=VALUE/],
    [
      'two filters by one key',
      ['terminate', '--yes', '--filter', 'workflowType=a', '--filter', 'workflowType=b'],
      {},
      2,
      /a filter by workflowType already/,
    ],
    [
      'a filter beside the short form of another',
      ['list', '--workflow', 'a', '--filter', 'workflowType=b'],
      {},
      2,
      /two filters by workflowType/,
    ],
    ['a time that is none', ['list', '--filter', 'startedAfter=yesterday'], {}, 2, /a time in ISO 8601/],
    ['a status that is none', ['list', '--filter', 'status=done'], {}, 2, /status/],
    ['nothing to stop', ['stop'], {}, 2, /say what to stop/],
    ['ids and a filter', ['stop', 'a', '--filter', 'status=running'], {}, 2, /and not both/],
    ['nowhere to reset to', ['reset', 'a'], {}, 2, /--step NAME, or --to-start/],
    [
      'an occurrence of the start',
      ['reset', 'a', '--to-start', '--occurrence', '2'],
      {},
      2,
      /--occurrence.*cannot be used with.*--to-start/,
    ],
    ['a server that is no URL', ['list', '--server', 'localhost'], {}, 2, /--server.*URL/],
    ['an unknown flag', ['list', '--limt', '3'], {}, 2, /--limt/],
    ['a catalog that nobody has', ['catalog', '--catalog', 'nope'], {}, 4, /nope/],
    ['several runs without --yes', ['stop', '--filter', 'status=running'], {}, 2, /confirm it with --yes/],
  ])('%s: %j', async (_what, args, options, code, says) => {
    if (args.includes('--filter') && args[0] === 'stop' && args.length === 3) await waiting();
    const ended = await perdure(args, options);
    expect(ended.stderr).toMatch(says);
    expect([ended.code, ended.stdout]).toEqual([code, '']);
    expect(ended.stderr).not.toMatch(/^\s+at /m);
  });

  it.each([['pause', 'x'], ['why', 'x'], ['list'], ['catalog'], ['start', 'adds', '1'], ['history', 'x']])(
    'a server that answers everything, and is none of ours: %s',
    async (...args) => {
      const server = await new ScriptedServer().listen();
      server.script((response) => {
        response.end('{"a":1}');
      });
      const { code, stdout, stderr } = await perdure(args, { env: { PERDURE_SERVER: server.url } });
      await server.close();
      expect(stderr).toMatch(/answered 200 with something that is not of this API. Is .* a perdure server\?/);
      expect([code, stdout]).toEqual([5, '']);
    },
  );

  it('a token that cannot be sent is not shown', async () => {
    const { code, stderr } = await perdure(['list'], { env: { API_AUTH_TOKEN: 'secret\nsecret' } });
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining('the token has characters that cannot be sent'),
    ]);
    expect(stderr).not.toContain('secret');
  });

  it('what others wrote moves no cursor', async () => {
    const { code, stderr } = await perdure(['status', 'a\u001b[2Jb']);
    expect(code).not.toBe(0);
    expect(stderr).not.toContain('\u001b[2J');
  });

  it('is sent all the same with --no-check, and then refused by the server', async () => {
    const { code, stderr } = await perdure(['start', 'adds', '{"a":1,"b":"x"}', '--no-check']);
    expect(code).toBe(2);
    expect(stderr).toMatch(/it does not fit:\n {2}input\.b: /);
  });

  it('says nothing when its output is read no further', async () => {
    const id = await waiting();
    const { code, stderr } = await shell(
      `"$0" "$1" history ${id} --payloads | head -1; exit "\${PIPESTATUS[0]}"`,
    );
    expect([code, stderr]).toEqual([0, '']);
  });
});

/** A line of bash with the program as its first words. */
async function shell(line: string) {
  const { spawnSync } = await import('node:child_process');
  const { MAIN } = await import('./shell.js');
  const { status, stderr } = spawnSync('bash', ['--norc', '-c', line, process.execPath, MAIN], {
    env: { PATH: process.env.PATH ?? '', ...env },
    encoding: 'utf8',
  });
  return { code: status, stderr };
}

describe('reading', () => {
  it('shows a run from its start to its end', async () => {
    const id = await waiting();
    const status = await perdure(['status', id]);
    expect(status.stdout).toMatch(/workflow {3}waits\n.*status {5}running\n.*started .* ago 20\d\d-/s);
    expect(await json(['input', id])).toMatchObject({ workflowId: id, input: { steps: 1 } });
    expect(await perdure(['input', id])).toMatchObject({ code: 0, stdout: '{"steps":1}\n' });
    const open = await perdure(['result', id, '--no-wait']);
    expect(open).toMatchObject({ code: 2, stdout: '' });
    expect(open.stderr).toMatch(/still running/);

    const waitingResult = begin(['result', id], { env });
    const watching = begin(['watch', id], { env });
    await expect.poll(() => watching.stderr).toContain('step add done');
    expect(await perdure(['query', id, 'got'])).toMatchObject({ code: 0, stdout: 'null\n' });
    expect(await perdure(['signal', id, 'go', '"now"'])).toMatchObject({ code: 0, stdout: '' });
    expect(await waitingResult.ended).toMatchObject({ code: 0, stdout: '"now"\n' });
    const watched = await watching.ended;
    expect(watched).toMatchObject({ code: 0, stdout: '"now"\n' });
    expect(watched.stderr).toMatch(/signal go\n.*completed\n$/s);

    const history = await perdure(['history', id]);
    expect(history.stdout).toMatch(/^ {4}1 {2}\S+ {2}WORKFLOW_EXECUTION_STARTED\n/);
    const { events, ...page } = await json(['history', id, '--payloads']);
    expect(page).toEqual({
      workflow: expect.objectContaining({
        workflowId: id,
        status: 'completed',
        historyLength: events.length,
      }),
      runId: expect.any(String),
      nextPageToken: null,
    });
    expect(events.at(-1)).toMatchObject({ eventTypeName: 'WORKFLOW_EXECUTION_COMPLETED' });
    expect(JSON.stringify(events)).toContain('"now"');
    const followed = await perdure(['history', id, '--follow', '--json']);
    expect(followed.stdout.trim().split('\n')).toHaveLength(events.length);
    expect(await json(['trace', id])).toMatchObject({ source: 'local' });
    const closed = await perdure(['signal', id, 'go', '"late"']);
    expect(closed.code).toBe(2);
    expect(closed.stderr).toMatch(/closed/);
  });

  it('gives the whole history as JSON, over as many pages as it takes', async () => {
    const id = 'long';
    await start('waits', id, { steps: 120 });
    await perdure(['signal', id, 'go', '"now"']);
    expect((await perdure(['result', id])).code).toBe(0);
    const { events, workflow, nextPageToken } = await json(['history', id]);
    expect(workflow.historyLength).toBeGreaterThan(500);
    expect(events.map(({ eventId }: { eventId: string }) => eventId)).toEqual(
      Array.from({ length: workflow.historyLength }, (_, at) => String(at + 1)),
    );
    expect(nextPageToken).toBeNull();
  });

  it('lists runs in tables, or as the API does, over as many pages as it takes', async () => {
    for (let n = 0; n < 3; n++) await start('adds', `listed-${n}`, { a: 1, b: 2 });
    const filter = ['--filter', 'workflowIdPrefix=listed-'];
    const { stdout } = await perdure(['list', ...filter, '--limit', '2']);
    expect(stdout).toMatch(
      /^ID +WORKFLOW +STATUS +STARTED +TOOK\nlisted-2 +adds +\w+ +.* ago +.*\nlisted-1 .*\nthere are more/,
    );
    expect(await json(['list', ...filter, '--limit', '2'])).toMatchObject({
      count: 2,
      nextCursor: expect.any(String),
    });
    expect(await json(['list', ...filter, '--all'])).toMatchObject({ count: 3, nextCursor: null });
    expect(await json(['list', '--workflow', 'adds', '--status', 'failed'])).toMatchObject({ count: 0 });
    expect(await perdure(['list', '--filter', 'workflowId=none'])).toMatchObject({
      code: 0,
      stdout: 'no runs\n',
    });
  });

  it('fits a terminal of 40 columns, with whole ids', async (context) => {
    await start('adds', 'an-id-that-people-copy', { a: 1, b: 2 });
    const { code, stdout } = await inTerminal(context, ['list', '--limit', '1'], { columns: 40 }).ended;
    expect(code).toBe(0);
    const lines = withoutEscapes(stdout).trim().split(/\r?\n/);
    for (const line of lines) expect([...line].length).toBeLessThanOrEqual(40);
    expect(lines[1]).toContain('an-id-that-people-copy');
    expect(stdout).toContain('\u001b[');
  });

  it('shows the catalog, and one workflow with its schemas', async () => {
    const { stdout } = await perdure(['catalog']);
    expect(stdout).toMatch(
      /^WORKFLOW +MESSAGES +DESCRIPTION\nadds .*\ncoerces.*\nfails.*\nstumbles.*\nwaits +go, resume, got, push/,
    );
    expect(await json(['catalog', 'plus'])).toMatchObject({ name: 'adds', inputSchema: { type: 'object' } });
    expect((await json(['catalog'])).workflows).toHaveLength(5);
  });
});

describe('workers', () => {
  it('are shown with their code and what they have to do', async () => {
    const { code, stdout } = await perdure(['workers']);
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^CATALOG +STATE +TURNS +STEPS +VERSION +HOST +CONNECTED +SEEN +WORKFLOWS +ID\ndefault +working +\d+ of \d+ +\d+ of \d+ +\w+ +\S+:\d+ +.* ago +.* ago +adds, coerces, fails,/,
    );
    const { workers } = await json(['workers']);
    expect(workers).toEqual([expect.objectContaining({ catalog: 'default', state: 'working' })]);
  });
});

describe('messages', () => {
  it('are checked by what is declared, before they are sent', async () => {
    const id = await waiting();
    const typo = await perdure(['signal', id, 'goo', '"x"']);
    expect(typo.code).toBe(4);
    expect(typo.stderr).toMatch(/declares no signal "goo": did you mean "go"\?/);
    const wrong = await perdure(['signal', id, 'go', '1']);
    expect(wrong.code).toBe(2);
    expect(wrong.stderr).toMatch(/payload: .*string/);
    expect(await perdure(['update', id, 'push', '2'])).toMatchObject({ code: 0, stdout: '3\n' });
    const failed = await perdure(['update', id, 'push', '-1']);
    expect(failed.code).toBe(1);
    expect(failed.stderr).toMatch(/not negative/);
    expect((await perdure(['feedback', id, '{"a":1}'])).code).toBe(0);
    expect((await perdure(['query', id, 'nothing'])).code).toBe(4);
    expect(await json(['signal', id, 'go', '"x"'])).toMatchObject({ workflowId: id });
  });
});

describe('acting', () => {
  it('ends and resets one run', async () => {
    const id = await waiting();
    expect(await perdure(['terminate', id, '--reason', 'enough'])).toMatchObject({ code: 0, stdout: '' });
    const result = await perdure(['result', id]);
    expect(result.code).toBe(1);
    expect(result.stderr).toMatch(/was terminated: enough/);
    const { runId } = await json(['reset', id, '--step', 'add']);
    expect(await json(['status', id])).toMatchObject({ runId, status: 'running' });
    expect((await perdure(['reset', id, '--step', 'nope'])).code).toBe(4);
    expect((await perdure(['reset', id, '--step', 'add', '--occurrence', '2'])).code).toBe(4);
    expect(await json(['stop', id])).toMatchObject({ workflowId: id });
    expect((await perdure(['result', id])).stderr).toMatch(/was cancelled/);
  });

  it('pauses and resumes one run or what a filter finds, and says why a run is where it is', async () => {
    const id = await waiting();
    expect(await perdure(['pause', id, '--reason', 'a look'])).toMatchObject({ code: 0, stdout: '' });
    expect(await json(['status', id])).toMatchObject({ paused: { reason: 'a look', by: 'operator' } });
    expect((await perdure(['status', id])).stdout).toMatch(/paused +a look by operator/);
    const why = await perdure(['why', id]);
    expect([why.code, why.stdout]).toEqual([
      0,
      expect.stringMatching(/paused +It is paused: a look\.\n +Resume it/),
    ]);
    expect(await json(['workflow', 'why', id])).toMatchObject({
      isStuck: true,
      reasons: [{ code: 'paused' }],
    });
    expect((await perdure(['list', '--why', '--filter', `workflowId=${id}`])).stdout).toMatch(
      /running, paused .*It is paused: a look/,
    );
    await waiting();
    const filter = ['--filter', 'workflowIdPrefix=waiting-', '--filter', 'status=running'];
    // Of what is open, only this one is paused.
    const resumed = await perdure(['resume', ...filter, '--yes']);
    expect(resumed.stderr).toBe(`this would resume 1 run:\n  ${id}\n1 of 1 resumed\n`);
    expect(await json(['status', id])).not.toHaveProperty('paused');
    expect((await perdure(['resume', ...filter])).stderr).toBe('no run fits; nothing was done\n');
    await perdure(['terminate', id]);
    expect((await perdure(['pause', id])).code).toBe(2);
    expect((await perdure(['why', 'nobody'])).code).toBe(4);
    expect((await perdure(['pause', '--filter', 'status=running'])).stderr).toMatch(/confirm it with --yes/);
  });

  it('shows in what is watched that it is paused, and why', async (context) => {
    const id = await waiting();
    const inPipe = begin(['watch', id], { env });
    const drawn = inTerminal(context, ['watch', id]);
    await perdure(['pause', id, '--reason', 'for a look']);
    await expect.poll(() => inPipe.stderr, { timeout: 20_000 }).toContain('paused: for a look');
    await expect
      .poll(() => withoutEscapes(drawn.stdout), { timeout: 20_000 })
      .toMatch(/paused .* ago: for a look/);
    await perdure(['resume', id]);
    await expect.poll(() => inPipe.stderr, { timeout: 20_000 }).toContain('resumed');
    await perdure(['terminate', id]);
    await Promise.all([inPipe.ended, drawn.ended]);
    expect(inPipe.stderr).not.toContain('perdure.pause');
  });

  it('acts on several, and on what a filter finds, after showing it', async () => {
    const several = [await waiting(), await waiting()];
    expect((await perdure(['terminate', ...several])).stderr).toBe('2 of 2 terminated\n');
    for (let n = 0; n < 6; n++) await start('waits', `many-${n}`, { steps: 1 });
    const filter = ['--filter', 'workflowIdPrefix=many-'];
    const { code, stderr, stdout } = await perdure(['stop', ...filter, '--yes', '--json']);
    expect(code).toBe(0);
    expect(stderr).toMatch(
      /this would stop 6 runs:\n( {2}many-\d\n){5} {2}and 1 more\n6 of 6 asked to stop\n/,
    );
    expect(stdout.trim().split('\n')).toHaveLength(6);
    await Promise.all([0, 1, 2, 3, 4, 5].map((n) => perdure(['result', `many-${n}`])));
    expect((await perdure(['stop', ...filter])).stderr).toBe('no run fits; nothing was done\n');
    expect((await perdure(['terminate', 'many-0', 'many-1'])).code).toBe(1);
  });

  it.for([
    ['y\r', 0, /1 of 1 terminated/],
    ['n\r', 2, /nothing was done/],
    // Ctrl-C, and the end of the input.
    ['\u0003', 130, /\r\nperdure: nothing was done\r\n$/],
    ['\u0004', 130, /\r\nperdure: nothing was done\r\n$/],
  ] as const)('asks in a terminal: %j', async ([typed, code, says], context) => {
    const id = await waiting();
    const running = inTerminal(context, ['terminate', '--filter', `workflowId=${id}`]);
    await expect.poll(() => running.stdout).toContain('Go on? [y/N]');
    running.child.stdin!.write(typed);
    const ended = await running.ended;
    expect(withoutEscapes(ended.stdout)).toMatch(says);
    expect(ended.code).toBe(code);
  });
});

describe('config', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'perdure-config-'));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const config = async (
    files: Record<string, string>,
    args: string[] = [],
    settings: Record<string, string> = {},
  ) => {
    const cwd = mkdtempSync(join(folder, 'in-'));
    for (const [name, text] of Object.entries(files)) writeFileSync(join(cwd, name), text);
    mkdirSync(join(cwd, 'below'));
    return call(['config', '--json', ...args], { cwd: join(cwd, 'below'), env: settings });
  };
  const parsed = async (...given: Parameters<typeof config>) => JSON.parse((await config(...given)).stdout);

  it('says what is in force and where it came from: flag, environment, file, default', async () => {
    expect(await parsed({})).toMatchObject({ server: { value: 'http://127.0.0.1:3001', source: 'default' } });
    const file = {
      'perdure.config.json': '{"server":"http://file:1","token":"a-secret-in-a-file","catalog":"blue"}',
    };
    expect(await parsed(file)).toEqual({
      server: { value: 'http://file:1', source: '../perdure.config.json' },
      token: { value: 'a-s***', source: '../perdure.config.json' },
      catalog: { value: 'blue', source: '../perdure.config.json' },
      patience: { value: '60s', source: 'default' },
    });
    const environment = {
      PERDURE_SERVER: 'http://env:1',
      API_AUTH_TOKEN: 'short',
      PERDURE_PATIENCE: '2m',
    };
    expect(await parsed(file, [], environment)).toMatchObject({
      server: { value: 'http://env:1', source: 'PERDURE_SERVER' },
      token: { value: '***', source: 'API_AUTH_TOKEN' },
      patience: { value: '120s', source: 'PERDURE_PATIENCE' },
    });
    const flags = ['--server', 'http://flag:1', '--patience', '500ms'];
    expect(await parsed(file, flags, environment)).toMatchObject({
      server: { value: 'http://flag:1', source: '--server' },
      patience: { value: '0.5s', source: '--patience' },
    });
  });

  it.each([
    ['perdure.config.js', 'export default { server: "http://js:1" };'],
    [
      'perdure.config.ts',
      'import { host } from "./host.js";\nconst server: string = "http://" + host + ":1";\nexport default { server };',
    ],
  ])('reads %s', async (name, text) => {
    const files = {
      [name]: text,
      'host.ts': 'export const host: string = "ts";',
      'package.json': '{"type":"module"}',
    };
    expect(await parsed(files)).toMatchObject({
      server: { value: expect.stringMatching(/^http:\/\/(js|ts):1$/) },
    });
  });

  it.each([
    [
      'an unknown key',
      { 'perdure.config.json': '{"sever":"x"}' },
      /unknown key "sever": did you mean "server"/,
    ],
    ['no JSON', { 'perdure.config.json': '{' }, /perdure\.config\.json cannot be read/],
    ['no object', { 'perdure.config.json': '[]' }, /must give an object/],
    ['a server that is none', { 'perdure.config.json': '{"server":"x"}' }, /is x: give a URL/],
    ['two files', { 'perdure.config.json': '{}', 'perdure.config.js': '' }, /both in.*keep one/],
    [
      'a file of a token that is missing',
      { 'perdure.config.json': '{"tokenFile":"none"}' },
      /none cannot be read/,
    ],
  ])('refuses %s', async (_what, files, says) => {
    const { code, stderr, stdout } = await config(files as Record<string, string>);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(says);
  });
});
