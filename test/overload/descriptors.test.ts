/** A process with few file descriptors: callers cannot take those that its database and its workers need. */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { Agent, get } from 'node:http';
import { connect, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { freePort, Service, temporaryFolder } from '../recovery/service.js';

const PROGRAM = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
const WORKFLOWS = fileURLToPath(new URL('./workflows', import.meta.url));
const DESCRIPTORS = 256;

it('refuses connections before it runs out of descriptors, and goes on', async () => {
  const data = temporaryFolder();
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const flags = [
    'serve',
    '--workflows',
    WORKFLOWS,
    '--port',
    String(port),
    '--data',
    data.path,
    '--workers',
    '1',
  ];
  const program = spawn(
    'bash',
    ['-c', `ulimit -n ${DESCRIPTORS} && exec "$@"`, 'bash', process.execPath, PROGRAM, ...flags],
    { stdio: 'ignore' },
  );
  const sockets: Socket[] = [];
  const run = async () => {
    const body = JSON.stringify({ workflowName: 'works', input: {} });
    const headers = { 'content-type': 'application/json', connection: 'close' };
    const response = await fetch(`${url}/workflow/run`, { method: 'POST', headers, body });
    return [response.status, ((await response.json()) as { status?: string }).status];
  };
  try {
    await expect.poll(() => run().catch(() => []), { timeout: 40_000 }).toEqual([200, 'completed']);
    for (let i = 0; i < 2 * DESCRIPTORS; i++) {
      const socket = connect(port, '127.0.0.1');
      socket.on('error', () => {});
      sockets.push(socket);
    }
    // Those that are let in leave room for all else; the others are told one after the other.
    const kept = () => sockets.filter(({ destroyed }) => !destroyed).length;
    await expect.poll(kept).toBeLessThan(DESCRIPTORS - 50);
    expect(kept()).toBeGreaterThan(100);
    expect(program.exitCode).toBeNull();
    for (const socket of sockets) socket.destroy();
    await expect.poll(() => run().catch(() => [])).toEqual([200, 'completed']);
  } finally {
    for (const socket of sockets) socket.destroy();
    program.kill('SIGKILL');
    await once(program, 'exit');
    data.remove();
  }
});

describe('a process that has none left for a while', () => {
  /** Those that it has stay; it gets no more. */
  const NO_MORE = 3;
  let data: ReturnType<typeof temporaryFolder>;
  let service: Service;
  const allow = (descriptors: number) =>
    execFileSync('prlimit', ['--pid', String(service.pid), `--nofile=${descriptors}:`]);

  beforeEach(async (context) => {
    if (spawnSync('prlimit', ['--version']).status !== 0)
      context.skip('there is no `prlimit` on this machine, which takes descriptors from a process that runs');
    data = temporaryFolder();
    service = await Service.start({ workflows: WORKFLOWS, dataDir: data.path, port: await freePort() });
    await service.untilWorkers(2);
  }, 90_000);
  afterEach(async () => {
    await service?.kill();
    data?.remove();
  });

  it('starts a worker in place of another afterwards', { timeout: 90_000 }, async () => {
    const killed = service.workerPids();
    allow(NO_MORE);
    for (const pid of killed) process.kill(pid, 'SIGKILL');
    await expect
      .poll(() => service.output, { timeout: 20_000 })
      .toMatch(/a worker could not be started .*EMFILE/);
    expect(service.isGone).toBe(false);
    allow(DESCRIPTORS);
    expect(await service.run('says', {})).toMatchObject({ status: 'completed' });
  });

  it('serves the dashboard afterwards', { timeout: 90_000 }, async () => {
    const connection = new Agent({ keepAlive: true, maxSockets: 1 });
    const status = (path: string) =>
      new Promise<number | undefined>((resolve, reject) => {
        const { port } = service.options;
        get({ agent: connection, host: '127.0.0.1', port, path }, (response) => {
          response.resume().on('end', () => resolve(response.statusCode));
        }).on('error', reject);
      });
    try {
      expect(await status('/health')).toBe(200);
      allow(NO_MORE);
      expect(await status('/ui/')).toBe(500);
      allow(DESCRIPTORS);
      expect(await status('/ui/')).toBe(200);
    } finally {
      connection.destroy();
    }
  });
});
