/** `perdure doctor`: what it finds on a machine that is fit, and on one that is not. */
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Finding } from '../../src/cli/doctor/finding.js';
import { takeOneIn } from '../share.js';
import { call } from './shell.js';

takeOneIn(2);

// Each calls the program several times, which takes its time on a busy machine.
vi.setConfig({ testTimeout: 120_000 });

const WORKFLOWS = fileURLToPath(new URL('workflows', import.meta.url));
const TOKEN = 'a-token-of-forty-characters-for-this-test';

let place: string;
beforeAll(() => {
  place = mkdtempSync(join(tmpdir(), 'perdure-doctor-test-'));
  mkdirSync(join(place, 'broken/order'), { recursive: true });
  writeFileSync(
    join(place, 'broken/order/workflow.ts'),
    "import { readFile } from 'node:fs';\nexport default readFile;",
  );
  writeFileSync(join(place, 'a-file'), TOKEN);
  chmodSync(join(place, 'a-file'), 0o644);
  mkdirSync(join(place, 'other'));
  writeFileSync(join(place, 'other/perdure.db'), 'no database');
});
afterAll(() => rmSync(place, { recursive: true, force: true }));

async function doctor(args: string[], env: Record<string, string> = {}) {
  // Free ports, so that whatever runs beside this test does not count.
  const { code, stdout, stderr } = await call(['doctor', '--json', '--port', '0', ...args], {
    cwd: place,
    env,
  });
  expect(stderr).toBe('');
  const { ok, checks } = JSON.parse(stdout) as { ok: boolean; checks: Finding[] };
  expect(code).toBe(ok ? 0 : 1);
  for (const { status, remedy } of checks) expect(remedy === null).toBe(status === 'ok');
  return Object.fromEntries(checks.map((each) => [each.name, each])) as Record<string, Finding>;
}

it('finds a machine fit, with a worker that has loaded the workflows, and leaves nothing behind', async () => {
  const before = readdirSync(place);
  const checks = await doctor([WORKFLOWS], { API_AUTH_TOKEN: TOKEN });
  expect(Object.keys(checks)).toEqual([
    ...['Node', 'data folder', 'SQLite', 'synced write', 'disk space', 'port', 'token', 'workflows'],
    ...['Temporal packages', 'Temporal cluster'],
  ]);
  expect(Object.values(checks).filter(({ status }) => status === 'fail')).toEqual([]);
  expect(checks.SQLite!.message).toMatch(/^3\.\d+\.\d+, synchronous=FULL$/);
  expect(checks['synced write']!.message).toMatch(/^\d+\.\d ms, the slowest of \d+ took \d+\.\d ms/);
  expect(checks['disk space']!.message).toMatch(/^\d+\.\d GiB are free$/);
  expect(checks.workflows!.message).toContain('loaded by a worker: adds, coerces, fails, stumbles, waits');
  expect(checks.token).toMatchObject({ status: 'ok' });
  expect(JSON.stringify(checks)).not.toContain(TOKEN);
  expect(readdirSync(place)).toEqual(before);
});

describe('fails, with what to do,', () => {
  it.each<[string, string[], Record<string, string>, string, RegExp, RegExp]>([
    [
      'workflows that do not load',
      ['broken'],
      {},
      'workflows',
      /order\/workflow\.ts.*node:fs/s,
      /Mend the files/,
    ],
    ['a folder that is not there', ['nowhere'], {}, 'workflows', /nowhere/, /Mend/],
    ['data below a file', ['--data', 'a-file/data'], {}, 'data folder', /is not a folder/, /--data/],
    ['data that is none of a server', ['--data', 'other'], {}, 'data folder', /is damaged/, /perdure check/],
    ['too little space', ['--min-free-space', '900000GB'], {}, 'disk space', /refused/, /Make space/],
    ['no token in production', [], { NODE_ENV: 'production' }, 'token', /does not start/, /API_AUTH_TOKEN/],
    ['no token for others', ['--host', '0.0.0.0'], {}, 'token', /not loopback/, /API_AUTH_TOKEN/],
    [
      'a token that cannot be read',
      ['--token-file', 'none'],
      {},
      'token',
      /none cannot be read/,
      /can be read/,
    ],
    ['an address of another machine', ['--host', '192.0.2.1'], {}, 'port', /192\.0\.2\.1/, /--host/],
    [
      'no cluster',
      ['--engine', 'temporal', '--temporal-address', '127.0.0.1:1'],
      {},
      'Temporal cluster',
      /127\.0\.0\.1:1/,
      /--temporal-address/,
    ],
  ])('%s', async (_what, args, env, name, message, remedy) => {
    const finding = (await doctor(args, env))[name]!;
    expect(finding.status).toBe('fail');
    expect(finding.message).toMatch(message);
    expect(finding.remedy).toMatch(remedy);
  });

  it('a port that another program has, and not one that perdure has', async () => {
    const other = createServer((_request, response) => response.end('{"status":"ok"}')).listen(
      0,
      '127.0.0.1',
    );
    await once(other, 'listening');
    const port = String((other.address() as AddressInfo).port);
    const taken = await doctor(['--port', port]);
    expect(taken.port).toMatchObject({ status: 'fail', remedy: expect.stringContaining('--port') });
    expect(taken.port!.message).toBe(`port ${port} is in use`);
    other.removeAllListeners('request').on('request', (_request, response) => {
      response.setHeader('x-request-id', 'of perdure').end('{"status":"ok"}');
    });
    expect((await doctor(['--port', port])).port).toMatchObject({ status: 'ok' });
    other.closeAllConnections();
    other.close();
  });
});

describe('warns of', () => {
  it.each<[string, string[], Record<string, string>, string, RegExp]>([
    ['no workflows', [], {}, 'workflows', /there is no \.\/workflows/],
    ['no token', [], {}, 'token', /this machine only/],
    ['a short token', ['--token', 'short'], {}, 'token', /5 characters/],
    ['a token for everybody to read', ['--token-file', 'a-file'], {}, 'token', /every user/],
  ])('%s', async (_what, args, env, name, message) => {
    const finding = (await doctor(args, env))[name]!;
    expect(finding.status).toBe('warn');
    expect(finding.message).toMatch(message);
  });
});

it('speaks in lines to people, and refuses what means nothing', async () => {
  const { code, stdout } = await call(['doctor', '--port', '0', 'nowhere'], { cwd: place });
  expect(code).toBe(1);
  expect(stdout).toMatch(/^✓ Node {15}\d+/);
  expect(stdout).toMatch(/\n✗ workflows .*nowhere.*\n {21}→ Mend the files/);
  const nonsense = await call(['doctor', '--temporal-namespace', 'x'], { cwd: place });
  expect(nonsense).toMatchObject({ code: 2, stdout: '' });
  expect(nonsense.stderr).toMatch(/--temporal-namespace means nothing with the embedded engine/);
});
