/** What user code breaks does not stay broken. */
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { isAlive } from '../../../test/is-alive.js';
import { takeOneIn } from '../../../test/share.js';
import {
  expectWorks,
  lines,
  optionsOf,
  prepareSupervision,
  root,
  STEPS,
  said,
  source,
  start,
  step,
  stepWithNext,
  supervise,
  supervisor,
  turn,
  WORKFLOW,
  write,
} from './supervised.fixture.js';
import { type StartWorkersOptions, superviseWorkers } from './supervisor.js';

takeOneIn(3);

prepareSupervision();

test('a worker that is frozen is killed and replaced', async () => {
  const worker = await start();
  const [pid] = supervisor!.pids();
  process.kill(pid!, 'SIGSTOP');
  await source.until(() => worker.gone);
  await expectWorks(await source.worker(worker));
  expect(isAlive(pid!)).toBe(false);
  expect(said(/is frozen: it is killed/)).toBeDefined();
});

describe('a worker that user code breaks is replaced', () => {
  const cases: [
    name: string,
    step: string,
    options: Partial<StartWorkersOptions>,
    said: RegExp,
    timeoutMs?: number,
  ][] = [
    ['process.exit', 'exit', {}, /ended \(exit code 0\); another one starts now/],
    ['SIGKILL to itself', 'die', {}, /ended \(signal SIGKILL\)/],
    ['process.abort', 'abort', {}, /ended \(signal SIGABRT\)/],
    ['an unhandled rejection', 'reject', {}, /a promise was rejected and nobody handled it/],
    [
      'an endless loop beyond its time',
      'loop',
      {},
      /watchdog: a step blocks the worker beyond its time: step "loop" of fine fine-1/,
      100,
    ],
    ['endless promises beyond their time', 'microtasks', {}, /watchdog: a step blocks the worker/, 100],
    [
      'an endless loop within its time',
      'loop',
      { watchdog: { hangMs: 500 } },
      /watchdog: something has blocked the worker for 500 ms; running: step "loop"/,
    ],
    ['an exhausted heap', 'heap', { maxHeapMb: 60 }, /heap out of memory|ended \(signal SIGABRT\)/],
    [
      'buffers beyond the limit',
      'buffers',
      { watchdog: { maxRssBytes: 250 * 2 ** 20 } },
      /watchdog: it uses \d+ MiB of memory, more than 250; running: step "buffers"/,
    ],
  ];
  test.each(cases)('%s', async (_name, stepName, options, expected, timeoutMs) => {
    const worker = await start(options);
    const [pid] = supervisor!.pids();
    worker.send(step(stepName, timeoutMs));
    await source.until(() => worker.gone);
    const next = await source.worker(worker);
    expect(worker.received.filter(({ kind }) => /^(step|turn)/.test(kind))).toEqual([]);
    expect(said(expected)).toBeDefined();
    await expectWorks(next);
    expect(isAlive(pid!)).toBe(false);
    expect(supervisor!.pids()).toHaveLength(1);
  });

  test('an endless turn', async () => {
    const worker = await start({ watchdog: { turnTimeoutMs: 400 } });
    worker.send(turn('endless'));
    await source.until(() => worker.gone);
    await expectWorks(await source.worker(worker));
    expect(said(/watchdog: a turn did not end within 400 ms.*endless w \(run the-run\)/)).toBeDefined();
  });

  test('an endless turn that it began after a step; the result of the step has left before', async () => {
    write(
      'workflow.js',
      `${WORKFLOW}\nexport const after = workflow({ name: 'after', fn: async () => { await steps.echo(1); for (;;); } });`,
    );
    const worker = await start({ watchdog: { turnTimeoutMs: 400 } });
    worker.send(turn('after'));
    await source.until(() => worker.received.some(({ kind }) => kind === 'turnCompleted'));
    worker.send(stepWithNext('after'));
    await source.until(() => worker.gone);
    expect(worker.received.at(-1)).toMatchObject({ kind: 'stepCompleted', begunAt: expect.any(Number) });
    await expectWorks(await source.worker(worker));
  });

  test('an error after its step has ended; the result stands', async () => {
    const worker = await start();
    worker.send(step('late'));
    expect(await source.answer(worker)).toMatchObject({ kind: 'stepCompleted', result: '"done"' });
    await expectWorks(await source.worker(worker));
    expect(said(/an error was thrown outside any step/)).toBeDefined();
  });

  test('one of several; the others go on', async () => {
    await start({ count: 2 });
    const [first, second] = await source.until(() => {
      const registered = source.sessions.filter(({ received }) => received.length > 0);
      return registered.length === 2 && registered;
    });
    first!.send(step('die'));
    await source.until(() => first!.gone);
    await expectWorks(second!);
    await source.until(
      () => source.sessions.filter(({ gone, received }) => !gone && received.length > 0).length === 2,
    );
  });

  test('again and again, at once, when what it was given to do ends it', async () => {
    let worker = await start();
    for (let i = 0; i < 4; i++) {
      worker.send(step('exit'));
      await source.until(() => worker.gone);
      worker = await source.worker(worker);
    }
    const waits = lines.flatMap(({ message }) => /another one starts (.*)$/.exec(message)?.[1] ?? []);
    expect(waits).toEqual(['now', 'now', 'now', 'now']);
  });

  test('again and again, ever more slowly, when it ends by itself', async () => {
    write(
      'steps.js',
      `${STEPS}\nimport { existsSync } from 'node:fs';\nif (existsSync(new URL('./broken', import.meta.url))) setTimeout(() => process.exit(1), 100);`,
    );
    const worker = await start();
    write('broken', '');
    process.kill(supervisor!.pids()[0]!, 'SIGKILL');
    await source.until(() => worker.gone);
    const waits = () => lines.flatMap(({ message }) => /another one starts (.*)$/.exec(message)?.[1] ?? []);
    await vi.waitUntil(() => waits().length >= 4, 60_000);
    expect(waits().slice(0, 4)).toEqual(['now', 'in 100 ms', 'in 200 ms', 'in 400 ms']);
  });

  test('also when it is killed while it loads for the first time', async () => {
    write('slow.js', 'await new Promise((resolve) => setTimeout(resolve, 500));');
    write('steps.js', `import './slow.js';\n${STEPS}`);
    const supervisor = supervise();
    process.kill(supervisor.pids()[0]!, 'SIGKILL');
    await supervisor.ready;
    await expectWorks(await source.worker());
  });

  test('also when it ends of something else than the files that it has loaded', async () => {
    write(
      'program.mjs',
      `import { existsSync, writeFileSync } from 'node:fs';
      process.once('message', () => {
        process.send({ kind: 'loaded' });
        const seen = new URL('./seen', import.meta.url);
        if (existsSync(seen)) return process.send({ kind: 'ready', outside: [] });
        writeFileSync(seen, '');
        throw new Error('the engine hung up');
      });`,
    );
    const supervisor = superviseWorkers(join(root, 'program.mjs'), optionsOf(), () => ({}));
    await supervisor.ready;
    await supervisor.stop(0);
    expect(said(/ended before it had begun \(exit code 1\).*the engine hung up/s)).toBeDefined();
  });
});
