/** A process with few file descriptors: callers cannot take those that its database and its workers need. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { freePort, temporaryFolder } from '../recovery/service.js';

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
    await expect.poll(() => sockets.filter(({ destroyed }) => destroyed).length).toBeGreaterThan(DESCRIPTORS);
    // Those that were let in are there, and leave room for all else.
    const kept = sockets.filter(({ destroyed }) => !destroyed).length;
    expect(kept).toBeGreaterThan(100);
    expect(kept).toBeLessThan(DESCRIPTORS - 50);
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
