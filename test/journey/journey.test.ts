/**
 * The package as users get it: packed, installed into an empty folder, a project made with it, its test, its server, a run from
 * the command line and one from a script that the compiler has seen.
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { LocalRegistry } from './registry.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const run = promisify(execFile);
/** Of one command: what takes longer hangs. */
const MAX_MS = 300_000;

let place: string;
let registry: LocalRegistry;
let env: Record<string, string>;
beforeAll(async () => {
  place = mkdtempSync(join(tmpdir(), 'perdure-journey-'));
  const { PATH = '' } = process.env;
  const packing = await run('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', place], {
    ...{ cwd: ROOT, maxBuffer: 16 * 1024 * 1024 },
  });
  const [{ filename }] = JSON.parse(packing.stdout) as [{ filename: string }];
  registry = await LocalRegistry.start(join(place, filename));
  env = {
    ...{
      PATH,
      HOME: place,
      NO_COLOR: '1',
      npm_config_registry: registry.url,
      npm_config_ignore_scripts: 'true',
    },
    ...{ npm_config_audit: 'false', npm_config_fund: 'false', npm_config_update_notifier: 'false' },
  };
}, MAX_MS);
afterAll(async () => {
  await registry?.close();
  rmSync(place, { recursive: true, force: true });
}, MAX_MS);

/** What it has said, on both outputs. @throws with that when it fails */
async function call(
  cwd: string,
  command: string,
  ...args: string[]
): Promise<{ stdout: string; stderr: string }> {
  try {
    return await run(command, args, { cwd, env, timeout: MAX_MS, maxBuffer: 16 * 1024 * 1024 });
  } catch (error) {
    const { stdout, stderr, code } = error as { stdout: string; stderr: string; code: number };
    throw new Error(`${command} ${args.join(' ')} ended with ${code}:\n${stdout}${stderr}`);
  }
}

it('leads from an empty folder to a run', { timeout: 4 * MAX_MS }, async () => {
  const empty = join(place, 'empty');
  mkdirSync(empty);
  await call(empty, 'npm', 'install', 'perdure');
  expect((await call(empty, 'npx', 'perdure', 'init', 'demo')).stderr).toContain('npm run dev');

  const demo = join(empty, 'demo');
  const { dependencies } = JSON.parse(readFileSync(join(demo, 'package.json'), 'utf8'));
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  expect(dependencies).toEqual({ perdure: version });
  const installed = await call(demo, 'npm', 'install');
  expect(installed.stdout + installed.stderr).not.toMatch(/EBADENGINE|ERESOLVE|deprecated/);
  const tested = await call(demo, 'npm', 'test');
  expect(tested.stdout).toMatch(/Tests\s+4 passed/);
  expect(tested.stdout + tested.stderr).not.toMatch(/missing source/i);
  // It has no packages of Temporal, which are only for those who use it.
  const examined = call(demo, 'npx', 'perdure', 'doctor', '--port', '0', '--engine', 'temporal');
  const { message } = await examined.then(
    () => ({ message: 'nothing was missed' }),
    (error: Error) => error,
  );
  expect(message).toMatch(/✓ workflows +2 in \.\/workflows/);
  expect(message).toMatch(/✗ Temporal packages .*\n +→ Run: npm install @temporalio\//);

  await withServer(demo, async (url) => {
    env.PERDURE_SERVER = url;
    const input = '{"name": "Ada", "askAfter": "10 ms"}';
    const { stdout, stderr } = await call(demo, 'npx', 'perdure', 'run', 'welcome', input);
    expect(JSON.parse(stdout)).toEqual({
      mails: [expect.stringMatching(/^mail-/), expect.stringMatching(/^mail-/)],
    });
    expect(stderr).toMatch(/step sendMail done/);

    writeFileSync(join(demo, 'client.ts'), script(url));
    await call(demo, 'npx', 'tsc', '--noEmit', 'false', '--outDir', 'built');
    const called = await call(demo, process.execPath, 'built/client.js');
    expect(JSON.parse(called.stdout)).toEqual({ outcome: 'shipped', tracking: 'parcel-A-7' });
    expect((await call(demo, 'npx', 'perdure', 'status', 'A-7', '--json')).stdout).toContain('"completed"');
    const history = await call(demo, 'npx', 'perdure', 'history', 'A-7', '--payloads', '--json');
    writeFileSync(join(demo, 'history.json'), history.stdout);
  });
  expect((await call(demo, 'npx', 'perdure', 'replay', 'history.json')).stdout).toBe('✓ history.json\n');
});

/** Strict mode knows the workflow's types: what does not fit them does not compile. */
const script = (url: string) => `import { createClient } from 'perdure/client';
import type order from './workflows/order/workflow.js';

const orders = createClient({ baseUrl: '${url}' }).workflow<typeof order>('order');
const handle = await orders.start({ orderId: 'A-7', cents: 1999 }, { workflowId: 'A-7' });
// @ts-expect-error the amount is missing
export const incomplete: Parameters<typeof orders.start>[0] = { orderId: 'A-8' };
await handle.signal('approve', { by: 'ada' });
const { outcome, tracking }: { outcome: 'shipped' | 'refunded'; tracking?: string | undefined } = await handle.result();
console.log(JSON.stringify({ outcome, tracking }));
`;

/** \`npm run dev\` while \`use\` goes on, ended as Ctrl-C in a terminal does it. */
async function withServer(cwd: string, use: (url: string) => Promise<void>): Promise<void> {
  const child = spawn('npm', ['run', 'dev', '--', '--port', '0'], {
    ...{ cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] },
  });
  const ended = once(child, 'close');
  let said = '';
  try {
    const url = await new Promise<string>((resolve, reject) => {
      for (const stream of [child.stdout, child.stderr]) {
        stream.setEncoding('utf8').on('data', (text: string) => {
          said += text;
          const found = /runs the workflows of \S+ at (http:\S+)/.exec(said);
          if (found) resolve(found[1]!);
        });
      }
      void ended.then(() => reject(new Error(`npm run dev has ended:\n${said}`)));
    });
    await use(url);
  } finally {
    process.kill(-child.pid!, 'SIGINT');
    await ended;
  }
}
