/** The command line as a person meets it: real processes of the built program. */
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { takeOneIn } from '../../test/share.js';
import { EXAMPLES, Workplace } from './program.fixture.js';

takeOneIn(3);

const TOKEN = 'a-token-that-is-long-enough-for-tests';
const TEMPORAL = { PERDURE_ENGINE: 'temporal' };
const GREETING = { workflowName: 'greeting', input: { name: 'Ada' } };

let workplace: Workplace;
beforeEach(() => {
  workplace = new Workplace();
});
afterEach(() => workplace.clear());

async function run(url: string, body: object, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${url}/workflow/run`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
}

describe('wrong use', () => {
  it.each([
    ['a port that is none', ['serve', '--port', '70000'], {}, /--port.*0 to 65535/],
    ['a port in the environment that is none', ['serve'], { PORT: 'http' }, /PORT.*0 to 65535/],
    ['no workers', ['dev', '--workers', '0'], {}, /--workers.*1 to 256/],
    ['a size that is none', ['serve', '--min-free-space', '1 TBX'], {}, /--min-free-space.*size/],
    ['space on Temporal', ['serve', '--min-free-space', '0'], TEMPORAL, /--min-free-space means nothing/],
    ['a check of nothing', ['check', '--date', 'x'], {}, /--date/],
    ['a catalog with a space', ['serve'], { PERDURE_CATALOG: 'a b' }, /PERDURE_CATALOG/],
    ['an empty token', ['serve'], { API_AUTH_TOKEN: '' }, /API_AUTH_TOKEN.*empty/],
    ['an origin that is none', ['serve'], { CORS_ORIGINS: 'https://a.example, *' }, /CORS_ORIGINS.*"\*"/],
    ['an unknown result format', ['serve', '--result-format', 'new'], {}, /current, legacy/],
    ['a server that is no URL', ['worker', 'x', '--server', 'localhost:3001'], {}, /--server/],
    ['a public address that is none', ['dev', '--public-url', 'example.com'], {}, /--public-url.*URL/],
    [
      'one with a query',
      ['worker'],
      { PERDURE_PUBLIC_URL: 'https://a.test/?x=1' },
      /PERDURE_PUBLIC_URL.*query/,
    ],
    ['a time that nobody may wait', ['serve', '--run-timeout', '2h'], {}, /--run-timeout.*1 hour/],
    ['no time at all', ['serve'], { PERDURE_RUN_TIMEOUT: '0' }, /PERDURE_RUN_TIMEOUT.*1 ms/],
    ['an unknown engine', ['serve', '--engine', 'cassandra'], {}, /embedded, temporal/],
    ['a cluster without a port', [], { ...TEMPORAL, TEMPORAL_ADDRESS: 'temporal' }, /TEMPORAL_ADDRESS.*port/],
    ['an empty namespace', [], { ...TEMPORAL, TEMPORAL_NAMESPACE: '' }, /TEMPORAL_NAMESPACE.*empty/],
    ['TLS that is neither', [], { ...TEMPORAL, TEMPORAL_TLS: 'maybe' }, /TEMPORAL_TLS.*true or false/],
    ['a message size', [], { ...TEMPORAL, TEMPORAL_MAX_MESSAGE_SIZE: '4mb' }, /MAX_MESSAGE_SIZE.*number/],
    ['half of mutual TLS', [], { ...TEMPORAL, TEMPORAL_TLS_CLIENT_CERT_PATH: 'c.pem' }, /no private key/],
    [
      'TLS that is off and configured',
      ['serve', '--temporal-tls-ca', 'ca.pem'],
      { ...TEMPORAL, TEMPORAL_TLS: 'false' },
      /TLS is off.*configured/,
    ],
    [
      'retention on Temporal',
      ['serve', '--retention', '3d'],
      TEMPORAL,
      /--retention means nothing.*namespace/,
    ],
    [
      'the same from outside',
      [],
      { ...TEMPORAL, PERDURE_RETENTION: '3d' },
      /PERDURE_RETENTION means nothing/,
    ],
    [
      'spare workers on Temporal',
      ['serve', '--spare-workers', '1'],
      TEMPORAL,
      /--spare-workers means nothing.*every worker/,
    ],
    [
      'a server for workers of Temporal',
      ['worker', '--server', 'http://a'],
      TEMPORAL,
      /--server means nothing/,
    ],
    ['a token for workers of Temporal', ['worker', '--token', 'abc'], TEMPORAL, /--token means nothing/],
    ['an address for SQLite', ['dev', '--temporal-address', 'a:1'], {}, /--temporal-address means nothing/],
    ['traces that workers do not write', ['worker', '--traces', 'all'], {}, /--traces means nothing.*server/],
    ['no slots for steps', ['worker', '--step-slots', '0'], {}, /--step-slots/],
    ['a version name with a space', ['dev', '--version-name', 'my release'], {}, /--version-name/],
    ['an unknown flag', ['serve', '--prot', '1'], {}, /--prot/],
    ['an unknown command', ['server'], {}, /server/],
  ])('refuses %s with one line and exit code 2', async (_what, args, env, says) => {
    const program = workplace.perdure(args.length === 0 ? ['serve'] : args, env as Record<string, string>);
    expect(await program.exited).toBe(2);
    expect(program.output()).toMatch(says);
    expect(program.output().trim().split('\n').length).toBeLessThanOrEqual(2);
  });

  it('shows help and version', async () => {
    const help = workplace.perdure(['--help']);
    expect(await help.exited).toBe(0);
    expect(help.output()).toMatch(/dev.*serve.*worker/s);
    const version = workplace.perdure(['--version']);
    expect(await version.exited).toBe(0);
    expect(version.output()).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});

describe('what stands in the way of starting', () => {
  async function refusal(args: string[], env: Record<string, string> = {}): Promise<string> {
    const program = workplace.perdure(args, env);
    expect(await program.exited).toBe(1);
    expect(program.output().trim().split('\n')).toHaveLength(1);
    return program.output();
  }

  it('is a folder that does not exist or has no workflows', async () => {
    expect(await refusal(['dev', '--port', '0'])).toMatch(/\.\/workflows.*does not exist/);
    mkdirSync(join(workplace.folder, 'empty'));
    expect(await refusal(['serve', '--port', '0', '--workflows', 'empty'])).toMatch(/empty.*no workflow/);
    expect(await refusal(['worker', 'empty'])).toMatch(/empty.*no workflow/);
  });

  it('is production without a token', async () => {
    for (const command of ['serve', 'dev']) {
      expect(await refusal([command, '--port', '0'], { NODE_ENV: 'production' })).toMatch(
        /API_AUTH_TOKEN is not set/,
      );
    }
  });

  it('is an address that others reach, without a token', async () => {
    expect(await refusal(['serve', '--port', '0', '--host', '0.0.0.0'])).toMatch(/API_AUTH_TOKEN/);
  });

  it('is a port in use', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    expect(await refusal(['serve', '--port', `${port}`])).toContain(`port ${port} is in use`);
    taken.close();
  });

  it('is a certificate that cannot be read', async () => {
    const key = join(workplace.folder, 'key.pem');
    writeFileSync(key, 'a key');
    const files = { TEMPORAL_TLS_CLIENT_CERT_PATH: 'none.pem', TEMPORAL_TLS_CLIENT_KEY_PATH: key };
    const said = await refusal(['serve', '--port', '0'], { ...TEMPORAL, ...files });
    expect(said).toMatch(/client certificate for Temporal cannot be read: none\.pem \(ENOENT\)/);
  });

  it('is a data folder in use, which is not disturbed', async () => {
    const first = await workplace.serve();
    expect(await refusal(['serve', '--port', '0'])).toMatch(/in use by another perdure/);
    expect((await fetch(`${first.url}/ready`)).status).toBe(200);
  });
});

describe('dev', () => {
  it('says what to try, and that works', async () => {
    const program = workplace.perdure(['dev', EXAMPLES, '--port', '0']);
    const [line] = await program.says(/curl -X POST \S+\/workflow\/run .*"workflowName":"greeting".*/);
    const curl = /POST (\S+) -H 'content-type: application\/json' -d '(.*)'$/.exec(line!.trim())!;
    const response = await fetch(curl[1]!, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: curl[2]!,
    });
    expect(await response.json()).toMatchObject({
      v: '2',
      status: 'completed',
      output: { greeting: 'Hello, Ada!' },
    });
    const [, input, server] = await program.says(/npx perdure run greeting '(.*)' --server (\S+)/);
    const called = workplace.perdure(['run', 'greeting', input!, '--server', server!]);
    expect(await called.exited).toBe(0);
    expect(called.output()).toContain('{"greeting":"Hello, Ada!"}');
    program.child.kill('SIGINT');
    expect(await program.exited).toBe(0);
  });
});

describe('serve and worker', () => {
  it('let web pages of the listed origins call', async () => {
    const origins = 'https://a.example, http://localhost:5173/';
    const server = await workplace.serve([], { CORS_ORIGINS: origins });
    for (const origin of ['https://a.example', 'http://localhost:5173']) {
      const response = await fetch(`${server.url}/workflow/catalog`, { headers: { origin } });
      expect(response.headers.get('access-control-allow-origin')).toBe(origin);
    }
  });

  it('give outsiders the public address, that of a worker before that of the server, over a restart', async () => {
    const folder = join(workplace.folder, 'asking');
    mkdirSync(folder);
    writeFileSync(
      join(folder, 'workflow.js'),
      "import { createCallback, defineQuery, setHandler, workflow } from 'perdure';\nexport default workflow({ name: 'asking', fn: async () => { const { url, result } = createCallback(); setHandler(defineQuery('url'), () => url); return result; } });\n",
    );
    const env = { API_AUTH_TOKEN: TOKEN, HOST: '127.0.0.1' };
    const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
    const post = async (url: string, body?: object, more: object = headers) => {
      const response = await fetch(url, {
        method: 'POST',
        headers: more as Record<string, string>,
        ...(body && { body: JSON.stringify(body) }),
      });
      return { status: response.status, body: (await response.json()) as unknown };
    };
    const urlOf = async (server: string, workflowId: string) => {
      await post(`${server}/workflow/start`, { workflowName: 'asking', input: null, workflowId });
      return (await post(`${server}/workflow/${workflowId}/query/url`)).body as string;
    };
    const first = await workplace.serve(
      ['--workflows', folder, '--workers', '1', '--public-url', 'https://public.test/prefix/'],
      env,
    );
    const given = await urlOf(first.url, 'one');
    expect(given).toMatch(/^https:\/\/public\.test\/prefix\/callback\/[\w-]+\.[\w-]+$/);
    first.child.kill('SIGTERM');
    expect(await first.exited).toBe(0);

    const second = await workplace.serve([], { ...env, PERDURE_PUBLIC_URL: 'https://other.test' });
    // The address of then is good: its last part is all that counts.
    const path = given.slice(given.indexOf('/callback/'));
    const answered = await post(second.url + path, { a: 1 }, { 'content-type': 'application/json' });
    expect(answered).toMatchObject({ status: 200, body: { workflowId: 'one' } });

    const worker = (args: string[]) =>
      workplace.perdure(['worker', folder, '--server', second.url, '--workers', '1', ...args], env);
    const own = worker(['--public-url', 'https://own.test']);
    await own.says(/workers are ready/);
    expect(await urlOf(second.url, 'two')).toMatch(/^https:\/\/own\.test\/callback\//);
    const result = await fetch(`${second.url}/workflow/one/result?wait=10000`, { headers });
    expect(await result.json()).toMatchObject({ status: 'completed', output: { a: 1 } });
    own.child.kill('SIGTERM');
    await own.exited;
    await worker([]).says(/workers are ready/);
    expect(await urlOf(second.url, 'three')).toMatch(/^https:\/\/other\.test\/callback\//);
  });

  it('wait for a run as long as they are told if the caller does not say', async () => {
    const env = { PERDURE_RUN_TIMEOUT: '50ms' };
    const server = await workplace.serve(['--workflows', EXAMPLES, '--workers', '1'], env);
    const subscription = { workflowName: 'subscription', input: { customer: 'a', periods: 2 } };
    const late = await run(server.url, subscription);
    expect(late.status).toBe(408);
    expect(await late.json()).toMatchObject({ message: expect.stringContaining('within 50 ms') });
    expect((await run(server.url, { ...GREETING, timeout: 30_000 })).status).toBe(200);
  });

  it('run workflows together, keep state over a restart and end at SIGTERM with 0', async () => {
    const first = await workplace.serve(['--workflows', EXAMPLES, '--workers', '1']);
    const answer = (await (await run(first.url, { ...GREETING, workflowId: 'kept' })).json()) as {
      runId: string;
    };
    expect(answer).toMatchObject({ status: 'completed', output: { greeting: 'Hello, Ada!' } });
    const open = run(first.url, {
      workflowName: 'subscription',
      workflowId: 'open',
      input: { customer: 'a', periods: 2 },
    });
    await expect.poll(async () => (await fetch(`${first.url}/workflow/open/status`)).status).toBe(200);
    first.child.kill('SIGTERM');
    expect((await open).status).toBe(503);
    expect(await first.exited).toBe(0);

    const second = await workplace.serve();
    const kept = await fetch(`${second.url}/workflow/kept/result`);
    expect(await kept.json()).toEqual(answer);
    const status = await fetch(`${second.url}/workflow/open/status`);
    expect(await status.json()).toMatchObject({ status: 'running', workflowType: 'subscription' });
  });

  it('take a worker from elsewhere with the token, and none without', async () => {
    const server = await workplace.serve([], { API_AUTH_TOKEN: TOKEN, HOST: '127.0.0.1' });
    const stranger = workplace.perdure([
      'worker',
      EXAMPLES,
      '--server',
      server.url,
      '--token',
      'wrong',
      '--workers',
      '1',
    ]);
    await stranger.says(/needs the token.*Give it that in API_AUTH_TOKEN/);
    const refused = await run(server.url, GREETING);
    expect(refused.status).toBe(401);
    const headers = { authorization: `Bearer ${TOKEN}` };
    expect((await run(server.url, GREETING, headers)).status).toBe(503);

    const worker = workplace.perdure(
      [
        ...['worker', EXAMPLES, '--server', server.url, '--workers', '1', '--result-format', 'legacy'],
        ...['--step-slots', '7', '--turn-slots', '5', '--version-name', 'release-9'],
      ],
      {
        API_AUTH_TOKEN: `${TOKEN},next-token`,
      },
    );
    await worker.says(/workers are ready/);
    const listed = await (await fetch(`${server.url}/workers`, { headers })).json();
    expect(listed).toMatchObject({
      workers: [
        {
          ...{ catalog: 'default', pid: expect.any(Number), host: expect.any(String), state: 'working' },
          workflows: expect.arrayContaining(['greeting']),
          version: { id: expect.stringMatching(/^[0-9a-f]{16}$/), name: 'release-9' },
          turns: { running: 0, slots: 5 },
          steps: { running: 0, slots: 7 },
        },
      ],
    });
    await server.says(/worker \S+ has come \(catalog \\"default\\", \d+ workflows, version release-9\)/);
    await expect.poll(async () => (await run(server.url, GREETING, headers)).status).toBe(200);
    const result = await (await run(server.url, GREETING, headers)).json();
    expect(result).toMatchObject({ status: 'completed', errorDetails: null });
    expect(result).not.toHaveProperty('v');
    worker.child.kill('SIGTERM');
    expect(await worker.exited).toBe(0);
    await server.says(/worker \S+ has left/);
    expect(stranger.output()).not.toMatch(/workers are ready/);
    for (const { output } of [server, worker, stranger]) expect(output()).not.toContain(TOKEN);
  });

  it('warn that outsiders may not reach the addresses of callbacks, until told where they do', async () => {
    const listening = { API_AUTH_TOKEN: TOKEN, HOST: '0.0.0.0' };
    const unaware = await workplace.serve([], listening);
    await unaware.says(/addresses of callbacks begin with http:[^"]+: set --public-url/);
    const told = await workplace.serve(['--public-url', 'https://api.example.com'], {
      ...listening,
      PERDURE_DATA_DIR: join(workplace.folder, 'other'),
    });
    const own = await workplace.serve([], { PERDURE_DATA_DIR: join(workplace.folder, 'third') });
    for (const { output } of [told, own]) expect(output()).not.toMatch(/--public-url/);
  });

  it('do not take local workers that do not know the secret of a server without a token', async () => {
    const server = await workplace.serve();
    const stranger = workplace.perdure(['worker', EXAMPLES, '--server', server.url, '--workers', '1']);
    // There is no token that it could be given, so it is told what to do instead.
    await stranger.says(/needs the token.*This server has none.*start it with API_AUTH_TOKEN/);
  });

  it('end at once at a second signal', async () => {
    const slow = join(workplace.folder, 'slow');
    mkdirSync(slow);
    writeFileSync(
      join(slow, 'workflow.js'),
      "import { workflow } from 'perdure';\nimport { hang } from './steps.js';\nexport default workflow({ name: 'slow', fn: () => hang() });\n",
    );
    writeFileSync(
      join(slow, 'steps.js'),
      "import { step } from 'perdure';\nexport const hang = step({ name: 'hang', fn: () => new Promise((resolve) => { console.log('hanging'); setTimeout(resolve, 60_000); }) });\n",
    );
    const server = await workplace.serve(['--workflows', slow, '--workers', '1']);
    await fetch(`${server.url}/workflow/start`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ workflowName: 'slow', input: null }),
    });
    await server.says(/hanging/);
    server.child.kill('SIGTERM');
    await server.says(/shutting down/);
    server.child.kill('SIGTERM');
    expect(await server.exited).toBe(143);
  });
});
