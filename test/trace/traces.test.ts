/** When traces are written, that nobody has to wait for them, and when they leave. */
import { execFileSync } from 'node:child_process';
import {
  linkSync,
  lstatSync,
  mkdirSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Command } from '../../src/core/history/command.js';
import { newRunId } from '../../src/core/values/id.js';
import { complete } from '../../src/embedded/scripted-worker.fixture.js';
import type { Engine, HistoryOptions, RunSelector } from '../../src/engine.js';
import { Traces } from '../../src/trace/index.js';
import { Scene, type SceneOptions, SHORT_RETENTION, until } from './scene.js';

const fail: Command = { kind: 'failRun', failure: { kind: 'application', type: 'Error', message: 'no' } };

let scene: Scene;
const open = async (options: SceneOptions) => {
  scene = await Scene.open(options);
};
afterEach(() => scene.remove());

/** The engine, with a count of the histories that are read and a gate before them. */
function watched(engine: Engine) {
  const reads: HistoryOptions[] = [];
  let gate: Promise<void> | undefined;
  let release = () => {};
  const seen = new Proxy(engine, {
    get(target, name) {
      const member = Reflect.get(target, name, target) as unknown;
      if (name === 'history') {
        return async (selector: RunSelector, options: HistoryOptions) => {
          reads.push(options);
          await gate;
          return target.history(selector, options);
        };
      }
      return typeof member === 'function' ? member.bind(target) : member;
    },
  });
  return {
    seen,
    reads,
    /** From now on reading waits. */
    shut: () => {
      gate = new Promise((resolve) => {
        release = resolve;
      });
    },
    open: () => release(),
  };
}

describe('with TRACES=all', () => {
  beforeEach(() => open({ mode: 'all' }));

  it('writes the trace of every run that closes, and the engine knows where', async () => {
    const completed = await scene.run();
    const failed = await scene.run(fail);
    for (const run of [completed, failed]) {
      await until(() => scene.saved(run));
      expect(await scene.saved(run)).toEqual({ local: scene.path(run) });
      expect(scene.read(run)).toMatchObject({ ...run, name: 'flow' });
    }
    expect(scene.names()).toEqual([`${completed.runId}.json`, `${failed.runId}.json`].sort());
  });

  it('keeps folder and files to their owner', async () => {
    const run = await scene.run();
    await until(() => scene.has(run));
    expect(statSync(scene.folder).mode & 0o777).toBe(0o700);
    expect(statSync(scene.path(run)).mode & 0o777).toBe(0o600);
  });

  it('has the trace of a run that closed while it was not there when it is asked for', async () => {
    await scene.traces.close();
    const run = await scene.run();
    await scene.restart({ mode: 'all' });
    expect(scene.has(run)).toBe(false);
    expect(await scene.find(run)).toEqual({
      source: 'local',
      runId: run.runId,
      localPath: scene.path(run),
    });
    expect(scene.read(run)).toMatchObject({ status: 'completed', output: 'done' });
  });
});

describe('the hot path', () => {
  it('goes on while no trace can be written', async () => {
    let engine!: ReturnType<typeof watched>;
    await open({
      mode: 'all',
      seen: (real) => {
        engine = watched(real);
        engine.shut();
        return engine.seen;
      },
    });
    const runs = await Promise.all(Array.from({ length: 50 }, () => scene.run()));
    expect(await Promise.all(runs.map((run) => scene.saved(run)))).toEqual(runs.map(() => null));
    expect(engine.reads.length).toBeLessThanOrEqual(1);
    engine.open();
    await until(() => runs.every((run) => scene.has(run)));
  });

  it('lets runs go that close faster than traces are written; they get theirs when asked', async () => {
    let engine!: ReturnType<typeof watched>;
    await open({
      mode: 'all',
      limits: { waitingRuns: 3 },
      seen: (real) => {
        engine = watched(real);
        engine.shut();
        return engine.seen;
      },
    });
    const first = await scene.run();
    await until(() => engine.reads.length === 1);
    const others = await Promise.all(Array.from({ length: 10 }, () => scene.run()));
    engine.open();
    await until(() => others.filter((run) => scene.has(run)).length === 3);
    expect(scene.has(first)).toBe(true);
    for (const run of others) await scene.find(run);
    expect(others.every((run) => scene.has(run))).toBe(true);
  });

  it('is not touched at all with TRACES=on-demand', async () => {
    let engine!: ReturnType<typeof watched>;
    await open({
      mode: 'on-demand',
      seen: (real) => {
        engine = watched(real);
        return engine.seen;
      },
    });
    const run = await scene.run();
    const later = await scene.run();
    await scene.find(later);
    expect(scene.names()).toEqual([`${later.runId}.json`]);
    expect(await scene.saved(run)).toBeNull();
    expect(engine.reads).toHaveLength(1);
  });
});

describe('with other modes', () => {
  it('failed: writes those of runs that ended badly, and the others when asked', async () => {
    await open({ mode: 'failed' });
    const completed = await scene.run();
    const failed = await scene.run(fail);
    const terminated = await scene.startRun();
    await scene.engine.terminate(terminated, 'enough');
    await until(() => scene.has(failed) && scene.has(terminated));
    expect(scene.has(completed)).toBe(false);
    expect(await scene.find(completed)).toMatchObject({ source: 'local' });
  });

  it('off: has none', async () => {
    await open({ mode: 'off' });
    const run = await scene.run();
    await expect(scene.find(run)).rejects.toMatchObject({ name: 'TraceNotAvailableError' });
    expect(scene.names()).toEqual([]);
  });

  it.each(['all', 'on-demand'] as const)('%s: a workflow that wants no trace has none', async (mode) => {
    await open({ mode, settings: { disableTrace: true } });
    const run = await scene.run();
    await expect(scene.find(run)).rejects.toMatchObject({ name: 'TraceNotAvailableError' });
    await scene.traces.close();
    expect(scene.names()).toEqual([]);
  });
});

describe('many who ask at once', () => {
  it('get one file, written once', async () => {
    let engine!: ReturnType<typeof watched>;
    await open({
      mode: 'on-demand',
      seen: (real) => {
        engine = watched(real);
        return engine.seen;
      },
    });
    const run = await scene.run();
    const answers = await Promise.all(Array.from({ length: 20 }, () => scene.find(run)));
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    expect(engine.reads.filter(({ afterEventId }) => afterEventId === 0)).toHaveLength(1);
    expect(scene.names()).toEqual([`${run.runId}.json`]);
  });

  it('of different runs are served a few at a time', async () => {
    let engine!: ReturnType<typeof watched>;
    await open({
      mode: 'on-demand',
      limits: { builtAtOnce: 2 },
      seen: (real) => {
        engine = watched(real);
        return engine.seen;
      },
    });
    const runs = await Promise.all(Array.from({ length: 20 }, () => scene.run()));
    engine.shut();
    const found = runs.map((run) => scene.find(run));
    await expect.poll(() => engine.reads.length).toBeGreaterThanOrEqual(2);
    // The others would be there by now.
    await sleep(200);
    const { length: built } = engine.reads;
    engine.open();
    await Promise.all(found);
    expect(built).toBe(2);
    expect(runs.every((run) => scene.has(run))).toBe(true);
  });
});

describe('a long history', () => {
  it('is read in pages', async () => {
    let engine!: ReturnType<typeof watched>;
    await open({
      mode: 'on-demand',
      limits: { eventsPerPage: 100 },
      seen: (real) => {
        engine = watched(real);
        return engine.seen;
      },
    });
    const run = await scene.startRun();
    for (let i = 0; i < 1_000; i++) await scene.engine.signal(run, 'more', [String(i)]);
    const task = await scene.worker.next('turn');
    scene.worker.completeTurn(task, []);
    await scene.worker.turn(complete());
    await scene.engine.outcome(run, { waitMs: 10_000 });
    await scene.find(run);
    expect(engine.reads.length).toBeGreaterThanOrEqual(10);
    const { children } = scene.read(run) as { children: { input: number }[] };
    expect(children.map(({ input }) => input)).toEqual(Array.from({ length: 1_000 }, (_, i) => i));
  });
});

describe('retention', () => {
  it('takes the file with the run', async () => {
    await open({ mode: 'all', engineLimits: SHORT_RETENTION });
    const run = await scene.run();
    await until(() => scene.saved(run));
    await scene.expire();
    await until(() => !scene.has(run));
    expect(scene.names()).toEqual([]);
  });

  it('leaves no file of a run that was removed while its trace was written', async () => {
    let engine!: ReturnType<typeof watched>;
    await open({
      mode: 'on-demand',
      engineLimits: SHORT_RETENTION,
      seen: (real) => {
        engine = watched(real);
        engine.shut();
        return engine.seen;
      },
    });
    const run = await scene.run();
    const asked = scene.find(run);
    asked.catch(() => {});
    await until(() => engine.reads.length === 1);
    await scene.expire();
    engine.open();
    await expect(asked).rejects.toMatchObject({ name: 'WorkflowNotFoundError' });
    expect(scene.names()).toEqual([]);
  });

  it('is made up for at the next start: files without a run and unfinished ones go', async () => {
    await open({ mode: 'all' });
    const kept = await scene.run();
    await until(() => scene.saved(kept));
    await scene.stop();
    const orphan = newRunId(Date.now());
    writeFileSync(join(scene.folder, `${orphan}.json`), '{}');
    writeFileSync(join(scene.folder, `.${kept.runId}.0123456789ab.tmp`), '{"half":');
    writeFileSync(join(scene.folder, 'README'), 'not ours');
    await scene.start({ mode: 'all' });
    await until(() => scene.names().length === 2);
    expect(scene.names()).toEqual([`${kept.runId}.json`, 'README'].sort());
  });
});

describe('where the engine does not tell when runs leave', () => {
  it('files leave by their age, and are made again', async () => {
    await open({ mode: 'on-demand' });
    const [old, recent] = [await scene.run(), await scene.run()];
    await scene.find(old);
    await scene.find(recent);
    await scene.traces.close();
    const unfinished = join(scene.folder, `.${old.runId}.0123456789ab.tmp`);
    const [ours, theirs] = [unfinished, unfinished.replace('0123', 'abcd')];
    for (const path of [ours, theirs]) writeFileSync(path, '{"half":');
    const longAgo = new Date(Date.now() - 8 * 86_400_000);
    for (const path of [scene.path(old), ours]) utimesSync(path, longAgo, longAgo);
    scene.traces = await Traces.open({ engine: scene.engine, mode: 'on-demand', dataDir: scene.dataDir });
    await until(() => !scene.has(old));
    await until(() => scene.names().length === 2);
    expect(scene.names()).toEqual([`${recent.runId}.json`, basename(theirs)].sort());
    expect(await scene.find(old)).toEqual({ source: 'local', runId: old.runId, localPath: scene.path(old) });
    expect(scene.has(old)).toBe(true);
  });
});

describe('what others plant in the folder', () => {
  let secret: string;
  beforeEach(async () => {
    await open({ mode: 'on-demand' });
    secret = join(scene.dataDir, 'secret');
    writeFileSync(secret, 'secret');
  });

  it.each<[string, (path: string) => void]>([
    ['a symbolic link', (path) => symlinkSync(secret, path)],
    ['a hard link', (path) => linkSync(secret, path)],
    ['a pipe', (path) => execFileSync('mkfifo', [path])],
    ['a dangling link', (path) => symlinkSync(join(scene.dataDir, 'created'), path)],
  ])('%s is neither read nor written through', async (_what, plant) => {
    const run = await scene.run();
    plant(scene.path(run));
    await scene.find(run);
    expect(lstatSync(scene.path(run)).isFile()).toBe(true);
    expect(statSync(scene.path(run)).nlink).toBe(1);
    expect(scene.read(run)).toMatchObject({ runId: run.runId });
    expect(statSync(secret).size).toBe('secret'.length);
    expect(() => statSync(join(scene.dataDir, 'created'))).toThrow('ENOENT');
  });

  it('a folder in place of a file costs that run its trace, and nothing else', async () => {
    const run = await scene.run();
    mkdirSync(scene.path(run));
    await expect(scene.find(run)).rejects.toThrow();
    const other = await scene.run();
    expect(await scene.find(other)).toMatchObject({ source: 'local' });
  });

  it('a link in place of the folder is refused at the start', async () => {
    await scene.traces.close();
    rmSync(scene.folder, { recursive: true });
    symlinkSync(scene.dataDir, scene.folder);
    const { engine, dataDir } = scene;
    await expect(Traces.open({ engine, mode: 'all', dataDir })).rejects.toMatchObject({
      name: 'TraceFolderError',
    });
    rmSync(scene.folder);
  });
});

describe('for callers who have waited for the run', () => {
  const closed = async (end?: Command) => {
    const run = await scene.run(end);
    return { ...run, status: end ? ('failed' as const) : ('completed' as const) };
  };

  it('are there soon, where they are written anyway', async () => {
    await open({ mode: 'failed' });
    expect(await scene.traces.soon(await closed())).toBeNull();
    const failed = await closed(fail);
    expect(await scene.traces.soon(failed)).toEqual({ local: scene.path(failed) });
    expect(await scene.saved(failed)).toEqual({ local: scene.path(failed) });
  });

  it('are not waited for longer than the bound, nor by more than a few, and are written all the same', async () => {
    let gate!: ReturnType<typeof watched>;
    const limits = { awaitedMs: 50, awaitedAtOnce: 1 };
    await open({
      mode: 'all',
      limits,
      seen: (engine) => {
        gate = watched(engine);
        return gate.seen;
      },
    });
    gate.shut();
    const [slow, beyond] = [await closed(), await closed()];
    const waiting = scene.traces.soon(slow);
    expect(await scene.traces.soon(beyond)).toBeNull();
    expect(await waiting).toBeNull();
    gate.open();
    await until(async () => (await scene.saved(slow)) && (await scene.saved(beyond)));
    // What is written already is given at once, which on a busy machine may be later than the bound.
    await expect.poll(() => scene.traces.soon(beyond)).toEqual({ local: scene.path(beyond) });
  });
});
