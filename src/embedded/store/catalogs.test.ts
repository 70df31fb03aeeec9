/** A catalog is the union of what its connected workers have, and what the last ones had while none is connected. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { EmbeddedEngine } from '../index.js';
import { CATALOG, Folder, HandClock, ScriptedWorker, workflow } from '../scripted-worker.fixture.js';

let folder: Folder;
let engine: EmbeddedEngine;
beforeEach(() => {
  folder = new Folder();
  engine = folder.open();
});
afterEach(() => folder.remove());

const having = (codeId: string, ...names: string[]) =>
  new ScriptedWorker(engine, {
    codeId,
    // So that it can be seen whose entry it is.
    workflows: names.map((name) => {
      const { entry, ...rest } = workflow(name);
      return { ...rest, entry: { ...entry, description: codeId } };
    }),
  });

/** Each workflow, and the code whose entry it is. */
const catalog = async () => {
  const found = await engine.catalog(CATALOG);
  return Object.fromEntries(
    (found?.workflows ?? []).map(({ entry, version }) => {
      expect(version?.id).toBe(entry.description);
      return [entry.name, version?.id];
    }),
  );
};

it('has what any connected worker has, of the newest code', async () => {
  expect(await engine.catalog(CATALOG)).toBeUndefined();
  having('v1', 'old', 'both');
  having('v2', 'both', 'young');
  expect(await catalog()).toEqual({ old: 'v1', both: 'v2', young: 'v2' });
});

it('does not lose what newer code has when a worker of older code starts anew, nor become older', async () => {
  const old = having('v1', 'old', 'both');
  having('v2', 'both', 'young');
  old.lose();
  expect(await catalog()).toEqual({ both: 'v2', young: 'v2' });
  having('v1', 'old', 'both');
  expect(await catalog()).toEqual({ old: 'v1', both: 'v2', young: 'v2' });
});

it('remembers over a restart of the server which code is newer, whoever comes first', async () => {
  having('v1', 'both');
  having('v2', 'both');
  await engine.recordTrace(
    await engine.start({ workflowType: 'both', catalog: CATALOG, input: [], workflowId: 'a' }),
    {},
  );
  await engine.close();
  engine = folder.open();
  expect(await catalog()).toEqual({ both: 'v2' });
  having('v2', 'both');
  having('v1', 'both');
  expect(await catalog()).toEqual({ both: 'v2' });
});

it('loses what only a worker had that has left, and keeps what the last one had', async () => {
  const old = having('v1', 'old', 'both');
  const young = having('v2', 'both', 'young');
  young.lose();
  expect(await catalog()).toEqual({ old: 'v1', both: 'v1' });
  old.lose();
  expect(await catalog()).toEqual({ old: 'v1', both: 'v1' });
  await engine.start({ workflowType: 'old', catalog: CATALOG, input: [], workflowId: 'waits' });
  await engine.close();
  engine = folder.open();
  expect(await catalog()).toEqual({ old: 'v1', both: 'v1' });
});

it('gives a name to the workflow of the newest code that has it, by name or by alias', async () => {
  const aliased = (name: string, ...aliases: string[]) => {
    const { entry, ...rest } = workflow(name);
    return { ...rest, entry: { ...entry, aliases } };
  };
  const worker = (codeId: string, ...workflows: ReturnType<typeof aliased>[]) =>
    new ScriptedWorker(engine, { codeId, workflows });
  worker('v1', aliased('first', 'moved', 'renamed'));
  worker('v2', aliased('second', 'moved'), aliased('renamed'));
  const found = await engine.catalog(CATALOG);
  expect(found!.workflows.map(({ entry }) => [entry.name, ...entry.aliases])).toEqual([
    ['second', 'moved'],
    ['renamed'],
    ['first'],
  ]);
});

it('knows the signals that any of its code declares, also while nobody is connected', async () => {
  const declaring = (codeId: string, ...signals: string[]) => {
    const { entry, ...rest } = workflow('flow');
    const declared = { ...entry, signals: signals.map((name) => ({ name })) };
    return new ScriptedWorker(engine, {
      codeId,
      workflows: [{ ...rest, declaresSignals: true, entry: declared }],
    });
  };
  for (const worker of ['first', 'second']) declaring('v1', 'approve', worker);
  declaring('v2', 'confirm');
  const run = await engine.start({ workflowType: 'flow', catalog: CATALOG, input: [], workflowId: 'a' });
  for (let life = 1; life <= 2; life++) {
    for (const name of ['approve', 'confirm']) await engine.signal(run, name, []);
    await expect(engine.signal(run, 'reject', [])).rejects.toMatchObject({ name: 'HandlerNotFoundError' });
    await engine.close();
    engine = folder.open();
  }
  declaring('v2', 'confirm');
  await expect(engine.signal(run, 'approve', [])).rejects.toMatchObject({
    name: 'HandlerNotFoundError',
    message: 'workflow flow has no signal "approve"; it declares confirm',
  });
});

it('lists its workers with their code, what they have to do, and when they were last heard of', async () => {
  await engine.close();
  const clock = new HandClock();
  const connectedAt = clock.now();
  engine = folder.open({ clock });
  having('v1', 'old').say({ kind: 'draining' });
  const young = new ScriptedWorker(engine, {
    ...{ codeId: 'v2', versionName: 'release-2', turns: 7, steps: 9, workerId: 'w2' },
    workflows: [workflow('young')],
  });
  await engine.start({ workflowType: 'young', catalog: CATALOG, input: [], workflowId: 'a' });
  clock.pass(5_000);
  young.say({ kind: 'pong' });
  const [first, second, ...others] = await engine.workers();
  expect(others).toEqual([]);
  expect(first).toMatchObject({ state: 'draining', version: { id: 'v1', name: null }, workflows: ['old'] });
  expect(second).toMatchObject({
    ...{ id: 'w2', catalog: CATALOG, state: 'working', workflows: ['young'] },
    version: { id: 'v2', name: 'release-2' },
    turns: { running: 1, slots: 7 },
    steps: { running: 0, slots: 9 },
    ...{ connectedAt, lastSeenAt: connectedAt + 5_000 },
  });
  young.lose();
  expect(await engine.workers()).toHaveLength(1);
  expect(await engine.catalogNames()).toEqual([CATALOG]);
});

it('has nothing more of a worker that has gone over to another one', async () => {
  const worker = having('v1', 'old');
  having('v2', 'young');
  worker.say({
    ...{ kind: 'register', catalog: 'other', workflows: [workflow('old')], resultFormat: 'current' },
    ...{ slots: { turns: 1, steps: 1 }, identity: 'scripted', codeId: 'v1' },
  });
  expect(await catalog()).toEqual({ young: 'v2' });
  expect((await engine.catalog('other'))?.workflows.map(({ entry }) => entry.name)).toEqual(['old']);
});

it('has the code that came last as the newest, also after the clock was set back', async () => {
  await engine.close();
  const clock = new HandClock();
  engine = folder.open({ clock });
  having('v1', 'both');
  clock.offsetMs = -3_600_000;
  having('v2', 'both');
  expect(await catalog()).toEqual({ both: 'v2' });
});
