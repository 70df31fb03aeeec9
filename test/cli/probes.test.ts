/** `perdure serve --probe-port`: where probes are answered whatever else there is to do. */
import { afterAll, expect, it, vi } from 'vitest';
import { EXAMPLES, Workplace } from '../../src/cli/program.fixture.js';

const workplace = new Workplace();
afterAll(() => workplace.clear());

const PATIENCE = { timeout: 60_000 };

it('answers on a port of its own until the program ends, and says that it shuts down', PATIENCE, async () => {
  const args = ['serve', '--port', '0', '--probe-port', '0', '--workflows', EXAMPLES, '--data', 'data'];
  const program = workplace.perdure(args);
  const [, probes] = await program.says(/"probes":"([^"]+)"/);
  await program.says(/"perdure is ready"/);
  expect(await (await fetch(`${probes}/health`)).json()).toEqual({ status: 'ok' });
  expect(await (await fetch(`${probes}/ready`)).json()).toEqual({ status: 'ready' });

  program.child.kill('SIGTERM');
  const reasons: unknown[] = [];
  await vi.waitFor(
    async () => {
      const response = await fetch(`${probes}/ready`).catch(() => undefined);
      if (response === undefined) return;
      reasons.push(await response.json());
      throw new Error('it still answers');
    },
    { timeout: 30_000, interval: 1 },
  );
  expect(reasons).toContainEqual({ status: 'unavailable', reason: 'the server is shutting down' });
  expect(await program.exited).toBe(0);
});

it('does not start where its port is taken, and says which option to change', PATIENCE, async () => {
  const first = await workplace.serve(['--data', 'first']);
  const port = new URL(first.url).port;
  const program = workplace.perdure(['serve', '--port', '0', '--probe-port', port, '--data', 'second']);
  expect(await program.exited).toBe(1);
  expect(program.output()).toContain(
    `port ${port} is in use: stop what listens there, or choose another one with --probe-port`,
  );
});
