import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test, vi } from 'vitest';
import { isAlive } from '../../../test/is-alive.js';
import { takeOneIn } from '../../../test/share.js';
import {
  expectWorks,
  lines,
  optionsOf,
  prepareSupervision,
  restartServer,
  root,
  STEPS,
  said,
  source,
  start,
  step,
  stepWithNext,
  supervisor,
  turn,
  write,
} from './supervised.fixture.js';

takeOneIn(2);

prepareSupervision();

describe('a worker', () => {
  test('registers, runs turns and steps, and keeps what is the server’s from user code', async () => {
    process.env.API_AUTH_TOKEN = 'canary-token';
    process.env.PERDURE_SOMETHING = 'canary-setting';
    const worker = await start().finally(() => {
      delete process.env.API_AUTH_TOKEN;
      delete process.env.PERDURE_SOMETHING;
    });
    expect(worker.received[0]).toMatchObject({ kind: 'register', catalog: 'main', resultFormat: 'current' });
    worker.received.length = 0;
    worker.send(turn('fine'));
    expect(await source.answer(worker)).toMatchObject({
      kind: 'turnCompleted',
      commands: [{ kind: 'scheduleStep', stepName: 'echo' }],
    });
    await expectWorks(worker);
    worker.received.length = 0;
    worker.send(step('env'));
    const answer = (await source.answer(worker)) as { result: string };
    expect(answer.result).not.toMatch(/canary|secret/);
    expect(JSON.parse(answer.result)).toMatchObject({ send: 'undefined' });
  });

  test('prints into the log', async () => {
    const worker = await start();
    worker.send(step('say'));
    await source.answer(worker);
    await supervisor!.stop(1_000);
    expect(said(/^on stdout$/)).toMatchObject({ level: 'info' });
    expect(said(/^on stderr$/)).toMatchObject({ level: 'warn' });
    expect(said(/^in the log$/)).toMatchObject({
      level: 'info',
      fields: { a: 1, step: 'say', workflowId: 'fine-1' },
    });
  });

  test('keeps what a long line of its log is, also after a line that has no end', async () => {
    const worker = await start();
    worker.send(step('long'));
    await source.answer(worker);
    await supervisor!.stop(1_000);
    expect(said(/^unfinished$/)).toMatchObject({ level: 'info' });
    const fields = {
      step: 'long',
      workflowId: 'fine-1',
      token: expect.stringContaining('100000 characters'),
    };
    expect(said(/^long$/)).toMatchObject({ level: 'error', fields });
  });

  test('may print without end', async () => {
    const worker = await start();
    const before = process.memoryUsage().rss;
    worker.send(step('flood'));
    expect(await source.answer(worker)).toMatchObject({ result: '"flooded"' });
    await supervisor!.stop(1_000);
    expect(process.memoryUsage().rss - before).toBeLessThan(100 * 2 ** 20);
    for (const { message } of lines) expect(message.length).toBeLessThan(10_000);
    expect(said(/^the worker print(s|ed) too much: \d+ characters were dropped$/)).toBeDefined();
  });

  test('comes back by itself when the server was away', async () => {
    const worker = await start();
    await restartServer();
    await expectWorks(await source.worker(worker));
    expect(supervisor!.pids()).toHaveLength(1);
  });
});

test('a worker that is suspended for a moment is not taken for one that hangs', async () => {
  const worker = await start({ watchdog: { hangMs: 300, blockMs: 300, turnTimeoutMs: 300 } });
  const [pid] = supervisor!.pids();
  process.kill(pid!, 'SIGSTOP');
  await new Promise((resolve) => setTimeout(resolve, 600));
  process.kill(pid!, 'SIGCONT');
  await expectWorks(worker);
  expect(supervisor!.pids()).toEqual([pid]);
});

describe('a spare worker', () => {
  const registered = () => source.sessions.filter((s) => !s.gone && s.received[0]?.kind === 'register');

  test('stands by in the same pool, and a new one when it has taken over', async () => {
    const worker = await start({ spares: 1 });
    await source.until(() => registered().length === 2);
    const [pool] = registered().map(({ received }) => (received[0] as { pool: object }).pool);
    expect(pool).toMatchObject({ size: 1, spares: 1 });
    for (const { received } of registered()) expect(received[0]).toMatchObject({ pool });
    worker.send(step('die'));
    await source.until(() => worker.gone);
    // The spare one was there before.
    expect(registered()).toHaveLength(1);
    const before = registered();
    await expectWorks(before[0]!);
    await source.until(() => registered().some((session) => !before.includes(session)));
    expect(supervisor!.pids()).toHaveLength(2);
  });

  test('that is stopped while it loads is killed and replaced', async () => {
    await start({ spares: 1 });
    await source.until(() => registered().length === 2);
    const before = supervisor!.pids();
    process.kill(before[1]!, 'SIGKILL');
    // The next one is stopped as soon as it is there, long before it has loaded anything.
    const loading = await vi.waitUntil(() => supervisor!.pids().find((pid) => !before.includes(pid)), {
      interval: 5,
      timeout: 60_000,
    });
    process.kill(loading, 'SIGSTOP');
    await source.until(() => registered().length === 1);
    await source.until(() => registered().length === 2);
    expect(supervisor!.pids()).not.toContain(loading);
    expect(said(/is frozen: it is killed/)).toBeDefined();
  });

  test('is joined by another one while user code blocks a worker', async () => {
    const worker = await start({ spares: 1 });
    await source.until(() => registered().length === 2);
    worker.send(step('loop'));
    await source.until(() => registered().length === 3);
    expect(worker.gone).toBe(false);
  });
});

test('a turn that asks for more than can be sent fails its run, with a typed failure', async () => {
  write(
    'workflow.js',
    `import { workflow } from 'perdure';
    import * as steps from './steps.js';
    export default workflow({ name: 'fine', fn: async () =>
      Promise.all(Array.from({ length: 70 }, () => steps.echo('東'.repeat(650_000)))) });`,
  );
  const worker = await start();
  worker.send(turn('fine'));
  expect(await source.answer(worker)).toMatchObject({
    kind: 'turnCompleted',
    commands: [{ kind: 'failRun', failure: { type: 'LimitExceededError', nonRetryable: true } }],
  });
  expect(worker.gone).toBe(false);
});

test('the replay of a long history may take longer than a turn', async () => {
  write(
    'workflow.js',
    `import { workflow, sleep } from 'perdure';
    export default workflow({ name: 'fine', fn: async () => { for (;;) { for (let i = 0; i < 4e7; i++); await sleep(1); } } });`,
  );
  const worker = await start({ watchdog: { turnTimeoutMs: 600 } });
  const task = turn('fine');
  let id = 2;
  const add = (type: string, attributes: object) =>
    task.events.push({ id: ++id, at: 0, type, attributes } as (typeof task.events)[number]);
  for (let timer = 1; timer <= 60; timer++) {
    add('WORKFLOW_TASK_STARTED', { scheduledEventId: id });
    add('WORKFLOW_TASK_COMPLETED', { scheduledEventId: id - 1, startedEventId: id });
    add('TIMER_STARTED', { timerId: `${timer}`, startToFireTimeoutMs: 1 });
    add('TIMER_FIRED', { timerId: `${timer}`, startedEventId: id });
    add('WORKFLOW_TASK_SCHEDULED', { attempt: 1 });
  }
  worker.send({ ...task, historyLength: id });
  const startedAt = performance.now();
  expect(await source.answer(worker)).toMatchObject({ kind: 'turnCompleted' });
  expect(performance.now() - startedAt).toBeGreaterThan(600);
  expect(worker.gone).toBe(false);
});

describe('the end', () => {
  test('lets steps finish within the grace', async () => {
    const worker = await start();
    worker.send({ ...step('slow'), scheduledEventId: 6 });
    worker.send(step('echo'));
    await source.answer(worker);
    await supervisor!.stop(5_000);
    expect(worker.received.map(({ kind }) => kind)).toEqual([
      'register',
      'stepCompleted',
      'draining',
      'stepCompleted',
    ]);
    expect(supervisor!.pids()).toEqual([]);
  });

  test('aborts steps after the grace, and waits for no step that does not listen', async () => {
    const worker = await start();
    const [pid] = supervisor!.pids();
    worker.send({ ...step('polite'), scheduledEventId: 6 });
    worker.send({ ...step('stubborn'), scheduledEventId: 7 });
    await supervisor!.stop(10);
    expect(worker.received.find(({ kind }) => kind === 'stepFailed')).toMatchObject({
      scheduledEventId: 6,
      failure: { message: expect.stringMatching(/shutting down|aborted/) },
    });
    expect(isAlive(pid!)).toBe(false);
  });

  test('of the parent is the end of its workers, also when user code blocks them', async () => {
    const script = `
      import { startWorkers } from ${JSON.stringify(fileURLToPath(new URL('../../../dist/worker/supervision/supervisor.js', import.meta.url)))};
      const log = { debug() {}, info() {}, warn() {}, error() {} };
      const supervisor = startWorkers({ ...${JSON.stringify(optionsOf({ count: 2 }))}, log });
      await supervisor.ready;
      console.log(JSON.stringify(supervisor.pids()));
    `;
    const parent = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [output] = (await once(parent.stdout, 'data')) as [Buffer];
    const pids = JSON.parse(output.toString()) as number[];
    expect(pids.map(isAlive)).toEqual([true, true]);
    const blocked = await source.worker();
    blocked.send(step('block'));
    while (!existsSync(join(root, 'blocked'))) await new Promise((resolve) => setTimeout(resolve, 10));
    parent.kill('SIGKILL');
    await once(parent, 'close');
    while (pids.some(isAlive)) await new Promise((resolve) => setTimeout(resolve, 10));
  });

  test('of the parent is the end of a worker that does not get to the end of loading', async () => {
    const endless = `${STEPS}\nwriteFileSync(new URL('./loading', import.meta.url), String(process.pid)); for (;;);`;
    writeFileSync(join(root, 'steps.js'), endless);
    const script = `
      import { startWorkers } from ${JSON.stringify(fileURLToPath(new URL('../../../dist/worker/supervision/supervisor.js', import.meta.url)))};
      const log = { debug() {}, info() {}, warn() {}, error() {} };
      await startWorkers({ ...${JSON.stringify(optionsOf({ count: 1 }))}, log }).ready;
    `;
    const parent = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: 'ignore' });
    const pid = await vi.waitUntil(
      () => existsSync(join(root, 'loading')) && Number(readFileSync(join(root, 'loading'), 'utf8')),
      { timeout: 60_000 },
    );
    parent.kill('SIGKILL');
    await once(parent, 'close');
    try {
      await vi.waitUntil(() => !isAlive(pid), { timeout: 60_000 });
    } finally {
      if (isAlive(pid)) process.kill(pid, 'SIGKILL');
    }
  });
});

describe('the turn that follows a step', () => {
  test('is begun as soon as the step has completed, when the run is cached', async () => {
    const worker = await start();
    worker.send(turn('fine'));
    await source.until(() => worker.received.some(({ kind }) => kind === 'turnCompleted'));
    worker.send(stepWithNext('fine'));
    const answer = await source.until(() =>
      worker.received.find((said) => 'turnId' in said && said.turnId === 2),
    );
    expect(answer).toMatchObject({ kind: 'turnCompleted', commands: [{ kind: 'completeRun' }] });
    const completed = worker.received.find((said) => said.kind === 'stepCompleted')!;
    expect(completed.begunAt).toBeGreaterThanOrEqual(1_000);
    expect(worker.received.indexOf(completed)).toBeLessThan(worker.received.indexOf(answer));
  });

  test('is left to the engine when the run is not cached', async () => {
    const worker = await start();
    worker.send(stepWithNext('fine'));
    const completed = await source.answer(worker);
    expect(completed).toMatchObject({ kind: 'stepCompleted' });
    expect(completed).not.toHaveProperty('begunAt');
  });
});
