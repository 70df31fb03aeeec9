/** The benchmark itself, as small as it gets: that it measures, writes its files and says what it could not have. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { usage } from './modules.js';

const RUN = fileURLToPath(new URL('../../bench/run.mjs', import.meta.url));
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'perdure-bench-run-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const bench = (args: string[], env: NodeJS.ProcessEnv = {}) =>
  new Promise<{ code: number; output: string }>((resolve) => {
    execFile(
      process.execPath,
      [RUN, ...args, '--out', folder],
      { env: { ...process.env, ...env } },
      (error, stdout, stderr) => resolve({ code: Number(error?.code ?? 0), output: stdout + stderr }),
    );
  });

it('measures perdure and leaves its results', { timeout: 120_000 }, async () => {
  const { code, output } = await bench(['--quick', '--only', 'fan-out,perdure', '--seconds', '0.3']);
  expect(output).toContain('✔ perdure: 0 wrong answers, 0 calls without one');
  expect(code).toBe(0);
  const file = readdirSync(folder).find((name) => name.endsWith('.json'))!;
  const [row] = JSON.parse(readFileSync(join(folder, file), 'utf8')).sections['fan-out'].rows;
  expect(row).toMatchObject({ system: 'perdure', cell: '1 connections' });
  for (const key of ['perSecond', 'p50Ms', 'p99Ms', 'p999Ms']) expect(row[key]).toBeGreaterThan(0);
  const markdown = readFileSync(join(folder, file.replace('.json', '.md')), 'utf8');
  expect(markdown).toContain('a quick run, not a result');
  const shown = await bench(['--write-docs', '--from', join(folder, file)]);
  expect(shown).toEqual({ code: 2, output: expect.stringContaining('not for showing') });
  expect(markdown).toMatch(/\| +1 \| perdure +\|/);
});

it('leaves out by name what cannot be had, with what to install', async () => {
  const { code, output } = await bench(['--quick', '--only', 'start,dbos'], {
    PERDURE_BENCH_POSTGRES: join(folder, 'nowhere'),
  });
  expect(output).toContain('!! dbos is LEFT OUT: there is no PostgreSQL in');
  expect(output).toContain('apt-get install postgresql');
  // Nothing was measured, and that is not a success.
  expect(output).toContain('✘ start broke off: none of its systems can be had here');
  expect(code).toBe(1);
});

it('says what is wrong with its flags', async () => {
  const { code, output } = await bench(['--only', 'nonsense']);
  expect(code).toBe(2);
  expect(output).toMatch(/^--only nonsense: choose from sync, .*openworkflow\n$/);
});

it.runIf(process.platform === 'linux')(
  'counts the processor time of everything that a server has started, in sessions of its own too',
  { timeout: 120_000 },
  async () => {
    // A server with a child that has ended and one that lives in a session of its own, as those of PostgreSQL do. Each says
    // by its own account what it has used.
    const used = `const used = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1_000; };`;
    const child = `${used} while (used() < 300); console.log(used());`;
    const server = spawn(
      process.execPath,
      [
        '-e',
        `${used}
        const { spawn, spawnSync } = require('node:child_process');
        const ended = Number(spawnSync(process.execPath, ['-e', ${JSON.stringify(child)}]).stdout);
        const living = spawn(process.execPath, ['-e', ${JSON.stringify(`${child} setInterval(() => {}, 1_000);`)}], { detached: true });
        process.on('SIGTERM', () => { living.kill('SIGKILL'); process.exit(); });
        living.stdout.once('data', (data) => console.log(JSON.stringify([used(), ended, Number(data)])));`,
      ],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    try {
      const [own, ended, living] = JSON.parse(String((await once(server.stdout!, 'data'))[0])) as number[];
      // The system counts in hundredths of a second, user and system time of each apart.
      const inexact = 6 * 10;
      expect(ended).toBeGreaterThanOrEqual(300);
      expect(living).toBeGreaterThanOrEqual(300);
      const counted = usage.processorMs([{ pid: server.pid! }]);
      expect(counted).toBeGreaterThanOrEqual(own! + ended! + living! - inexact);
    } finally {
      server.kill('SIGTERM');
      await once(server, 'exit');
    }
  },
);
