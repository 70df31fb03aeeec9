/** Kills and damage on real processes: what was acknowledged is there, or the program says that it is not. */
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { share, takeOneIn } from '../share.js';
import { freePort, plainEnvironment, Service, temporaryFolder, untilGone } from './service.js';

takeOneIn(2);
const ROUNDS = share(2, 4);

const workflows = fileURLToPath(new URL('../contract/workflows', import.meta.url));
const program = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));

let data: ReturnType<typeof temporaryFolder>;
let port: number;
let service: Service;
const seenPids = new Set<number>();

const start = async (dataDir = join(data.path, 'data'), flags: string[] = []) => {
  service = await Service.start({ workflows, dataDir, port, flags });
  for (const pid of [service.pid, ...service.workerPids()]) seenPids.add(pid);
};

async function kill(): Promise<void> {
  for (const pid of service.workerPids()) seenPids.add(pid);
  await service.kill();
}

/** A start that is expected to refuse. */
async function refusal(dataDir: string): Promise<string> {
  const refused = Service.launch({ workflows, dataDir, port: await freePort() });
  seenPids.add(refused.pid);
  expect(await refused.exit()).toBe(1);
  return refused.output;
}

function check(dataDir: string, ...args: string[]): { code: number | null; output: string } {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [program, 'check', '--data', dataDir, ...args],
    { encoding: 'utf8', env: plainEnvironment() },
  );
  return { code: status, output: stdout + stderr };
}

beforeEach(async () => {
  data = temporaryFolder();
  port = await freePort();
  await start();
});
afterEach(async () => {
  await service.stop();
  await untilGone(seenPids);
  data.remove();
});

describe('signals that were acknowledged before a kill -9', () => {
  test('are delivered exactly once, whatever the server was doing', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const runs = await Promise.all(Array.from({ length: 5 }, () => service.startRun('collects', null)));
      const acknowledged = new Map(runs.map((id) => [id, new Set<string>()]));
      let sent = 0;
      let isKilled = false;
      let enough!: () => void;
      const soon = new Promise<void>((resolve) => {
        enough = resolve;
      });
      const clients = Array.from({ length: 20 }, async (_, client) => {
        for (let i = 0; !isKilled; i++) {
          const id = runs[(client + i) % runs.length]!;
          const value = `${client}/${i}`;
          try {
            const { status } = await service.call(`/workflow/${id}/signal/add`, { payload: value });
            if (status === 200) acknowledged.get(id)!.add(value);
          } catch {
            return;
          }
          if (++sent === 300 + round * 50) enough();
        }
      });
      await soon;
      await kill();
      isKilled = true;
      await Promise.all(clients);
      await start();
      for (const id of runs) {
        expect((await service.call(`/workflow/${id}/signal/finish`, {})).status).toBe(200);
        const { output } = await service.result(id);
        const seen = output as string[];
        expect(seen.length, 'none twice').toBe(new Set(seen).size);
        expect(
          [...acknowledged.get(id)!].filter((value) => !seen.includes(value)),
          'none lost',
        ).toEqual([]);
      }
    }
  }, 300_000);
});

describe('commits that are gone', () => {
  test('keep the program from starting, in one line that says what is missing and what to do', async () => {
    for (let i = 0; i < 5; i++) await service.run('echo', i);
    const lastRun = await service.run('echo', 'last');
    await kill();
    const whole = join(data.path, 'data');
    const { size } = statSync(join(whole, 'perdure.db-wal'));
    const damages: [string, (dir: string) => void][] = [
      ...[size / 2, 40, size - 100, 3_000, size / 4, (size * 3) / 4]
        .slice(0, share(2, 6))
        .map((at): [string, (dir: string) => void] => [
          `byte ${at}`,
          (dir) => {
            const wal = readFileSync(join(dir, 'perdure.db-wal'));
            wal[Math.floor(at)]! ^= 4;
            writeFileSync(join(dir, 'perdure.db-wal'), wal);
          },
        ]),
      ['no log', (dir) => rmSync(join(dir, 'perdure.db-wal'))],
      ['an emptied database', (dir) => truncateSync(join(dir, 'perdure.db'), 0)],
    ];
    for (const [what, damage] of damages) {
      const copy = join(data.path, 'copy');
      cpSync(whole, copy, { recursive: true });
      damage(copy);
      const output = await refusal(copy);
      expect(output, what).toMatch(
        /^perdure: the database in \S+ has lost its last \d+ commits.*--accept-loss"\n$/,
      );
      expect(output, what).toContain(lastRun.runId);
      const found = check(copy);
      expect(found.output, what).toContain('has lost its last');
      expect(found.code, what).toBe(1);
      rmSync(copy, { recursive: true });
    }

    const copy = join(data.path, 'copy');
    cpSync(whole, copy, { recursive: true });
    rmSync(join(copy, 'perdure.db-wal'));
    expect(check(copy, '--accept-loss')).toMatchObject({
      code: 0,
      output: expect.stringContaining(lastRun.runId),
    });
    expect(check(copy)).toMatchObject({ code: 0 });
    await start(copy);
    expect(await service.run('echo', 'again')).toMatchObject({ output: 'again' });
    await service.stop();
    await start();
    expect(await service.result(lastRun.workflowId)).toMatchObject({ output: 'last' });
  }, 180_000);
});

describe('a part that is damaged', () => {
  test('concerns nobody else: one run, and one catalog', async () => {
    const damaged = await service.startRun('collects', null);
    const sound = await service.startRun('collects', null);
    await service.call(`/workflow/${sound}/signal/add`, { payload: 1 });
    await service.call(`/workflow/${damaged}/signal/add`, { payload: 1 });
    const dataDir = join(data.path, 'data');
    const busy = check(dataDir);
    expect(busy).toMatchObject({
      code: 1,
      output: expect.stringContaining('in use by another perdure process'),
    });
    await kill();
    const db = new Database(join(dataDir, 'perdure.db'));
    db.exec(`UPDATE catalogs SET workflows = '[{"entry"'`);
    const changed = db
      .prepare(
        `UPDATE history SET events = replace(events, 'collects', 'collectz') WHERE run_key = (SELECT key FROM runs WHERE workflow_id = ?)`,
      )
      .run(damaged);
    expect(changed.changes).toBeGreaterThan(0);
    db.exec('UPDATE runs SET is_active = 1');
    db.close();

    const found = JSON.parse(check(dataDir, '--json').output) as { problems: { workflowId?: string }[] };
    expect(found.problems).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ workflowId: damaged, problem: expect.stringContaining('checksum') }),
        expect.objectContaining({ problem: expect.stringContaining('catalog "default" cannot be read') }),
      ]),
    );

    await start();
    expect(service.output).toContain('is set apart');
    expect(service.output).toContain('catalog \\"default\\" cannot be read');
    for (const call of [
      () => service.call(`/workflow/${damaged}/status`),
      () => service.call(`/workflow/${damaged}/signal/add`, { payload: 2 }),
    ]) {
      expect(await call()).toMatchObject({ status: 500, body: { error: 'DataCorruptionError' } });
    }
    expect(await service.metrics()).toMatch(/^perdure_runs_damaged 1$/m);
    await service.call(`/workflow/${sound}/signal/finish`, {});
    expect(await service.result(sound)).toMatchObject({ status: 'completed', output: [1] });
  }, 180_000);
});

/** A file system of a few megabytes, where mounting is permitted. */
function mountSmallDisk(path: string): boolean {
  mkdirSync(path, { recursive: true });
  return spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=12m', 'tmpfs', path]).status === 0;
}

describe('a full disk', () => {
  test('keeps the program neither from running nor from starting, and loses nothing', async ({ skip }) => {
    const disk = join(data.path, 'disk');
    if (!mountSmallDisk(disk)) skip('mounting a file system is not permitted here');
    try {
      await service.stop();
      const dataDir = join(disk, 'data');
      await start(dataDir, ['--min-free-space', '0']);
      const run = await service.startRun('collects', null);
      for (let size = 12 * 2 ** 20; size >= 512; size = Math.floor(size / 2)) {
        try {
          writeFileSync(join(disk, 'filler'), Buffer.alloc(size), { flag: 'a' });
        } catch {}
      }
      const waiting = service.call('/workflow/start', {
        workflowName: 'collects',
        input: 'x'.repeat(100_000),
      });
      await until(async () => (await service.call('/ready')).status === 503);
      expect(await service.call('/workflow/start', { workflowName: 'echo', input: 1 })).toMatchObject({
        status: 507,
        body: { error: 'StorageFullError' },
      });
      expect((await service.call(`/workflow/${run}/status`)).status).toBe(200);
      const lost = waiting.catch(() => undefined);
      await kill();
      await lost;
      // It starts on the full disk, and goes on when there is space.
      service = Service.launch({ workflows, dataDir, port, flags: ['--min-free-space', '0'] });
      seenPids.add(service.pid);
      await until(async () => (await service.call(`/workflow/${run}/status`)).status === 200);
      rmSync(join(disk, 'filler'));
      await until(async () => (await service.call(`/workflow/${run}/signal/finish`, {})).status === 200);
      expect(await service.result(run)).toMatchObject({ status: 'completed', output: [] });
      await service.stop();
      expect(check(dataDir)).toMatchObject({ code: 0 });
    } finally {
      await service.kill();
      execFileSync('umount', [disk]);
    }
  }, 240_000);
});

async function until(holds: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 60_000;
  while (Date.now() < deadline) {
    if (await holds().catch(() => false)) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error('it did not come to be');
}
