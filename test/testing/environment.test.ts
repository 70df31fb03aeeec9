/** `perdure/testing`: the environment, and what stands for steps in it. */
import { Session } from 'node:inspector';
import { describe, expect, test, vi } from 'vitest';
import { stepContext } from '../../src/sdk/index.js';
import { createTestEnvironment } from '../../src/testing/index.js';
import { EnvironmentStage, START, workflows } from './environment.fixture.js';
import { send as leftSend } from './workflows/namesakes/left/steps.js';
import left from './workflows/namesakes/left/workflow.js';
import right from './workflows/namesakes/right/workflow.js';
import { fetchPrice, note } from './workflows/stepping/steps.js';
import { identity, ownStep, parallelNotes, price, twoNotes } from './workflows/stepping/workflow.js';
import { approval, identified, patient } from './workflows/waiting/workflow.js';

const stage = new EnvironmentStage();

describe('an environment', () => {
  test('refuses options that it does not have, and folders that do not load', async () => {
    await expect(createTestEnvironment({ workflows, replayEveryTurns: true } as never)).rejects.toThrow(
      'unknown option "replayEveryTurns": did you mean "replayEveryTurn"?',
    );
    await expect(createTestEnvironment({} as never)).rejects.toThrow('needs the folder');
    await expect(createTestEnvironment({ workflows: 'no/such/folder' })).rejects.toThrow('does not exist');
    await expect(createTestEnvironment({ workflows, startTime: 'noon' })).rejects.toThrow('is not a time');
    await expect(createTestEnvironment({ workflows, seed: 0.5 })).rejects.toThrow('is not a whole number');
  });

  test('makes up the same ids from the same seed', async () => {
    const others = await Promise.all(
      [1, 1, 2].map((seed) => createTestEnvironment({ workflows, startTime: START, seed })),
    );
    const [one, same, other] = await Promise.all(others.map((each) => each.run(identified)));
    await Promise.all(others.map((each) => each.close()));
    expect(same).toBe(one);
    expect(other).not.toBe(one);
  });

  test('imports files as it is told to, also where another one has loaded them before', async () => {
    const importFile = vi.fn((path: string) => import(path));
    const told = await createTestEnvironment({ workflows, import: importFile });
    expect(await told.run(twoNotes)).toHaveLength(2);
    expect(importFile).toHaveBeenCalledWith(expect.stringContaining('stepping/steps'));
    const times = importFile.mock.calls.length;
    const again = await createTestEnvironment({ workflows, import: importFile });
    expect(importFile).toHaveBeenCalledTimes(times);
    await Promise.all([told.close(), again.close()]);
  });

  test('hands on what workflows log', async () => {
    const lines: unknown[] = [];
    const logged = await createTestEnvironment({
      workflows,
      log: { info: (fields, message) => lines.push([message, fields]) },
    });
    await logged.start(approval, { name: 'x' });
    await logged.close();
    expect(lines).toEqual([
      ['waits for somebody', expect.objectContaining({ name: 'x', workflowType: 'approval' })],
    ]);
  });

  test('says so when it is closed', async () => {
    const run = await stage.env.start(approval, { name: 'x' });
    await stage.env.close();
    await expect(run.status()).rejects.toThrow('the test environment is closed');
    expect(() => stage.env.handle(run.workflowId)).toThrow('the test environment is closed');
    await stage.env.close();
  });
});

describe('mocks', () => {
  test('stand in for the code of a step, and get what it would get', async () => {
    const inputs: unknown[] = [];
    stage.env.mock(fetchPrice, async (input) => {
      inputs.push(input);
      return { cents: 3 };
    });
    expect(await stage.env.run(price, 'tea')).toEqual({ cents: 3 });
    expect(inputs).toEqual([{ product: 'tea', currency: 'EUR' }]);
  });

  test('are held against the schemas of the step', async () => {
    stage.env.mock('fetchPrice', async () => ({ cents: 'three' }));
    await expect(stage.env.run(price, 'tea')).rejects.toThrow('output of step "fetchPrice" is invalid');
  });

  test('by name, for one workflow alone, and taken away again', async () => {
    stage.env.mock('fetchPrice', () => ({ cents: 1 }));
    stage.env.mock('price#fetchPrice', () => ({ cents: 2 }));
    expect(await stage.env.run('price', 'tea')).toEqual({ cents: 2 });
    stage.env.unmock('price#fetchPrice');
    expect(await stage.env.run('price', 'tea')).toEqual({ cents: 1 });
    stage.env.unmock(fetchPrice);
    await expect(stage.env.run('price', 'tea')).rejects.toThrow('there is no shop');
    stage.env.mock(fetchPrice, () => ({ cents: 1 }));
    stage.env.unmock();
    await expect(stage.env.run('price', 'tea')).rejects.toThrow('there is no shop');
  });

  test('by definition, for that step alone where another workflow has one of the same name', async () => {
    stage.env.mock(leftSend, (text) => `mocked ${text}`);
    const [one, other] = await Promise.all([stage.env.start(left, 'tea'), stage.env.start(right, 'tea')]);
    expect(await one.result()).toBe('mocked tea');
    expect(await other.result()).toBe('right sent tea');
    expect(one.calls(leftSend)).toEqual([{ input: 'tea', attempt: 1 }]);
    expect(other.calls(leftSend)).toEqual([]);
    expect(other.calls('send')).toHaveLength(1);
    stage.env.unmock(leftSend);
    expect(await stage.env.run(left, 'tea')).toBe('left sent tea');
    stage.env.mock(leftSend, () => 'mocked');
    stage.env.unmock('send');
    expect(await stage.env.run(left, 'tea')).toBe('left sent tea');
    stage.env.mock('send', () => 'both');
    expect([await stage.env.run(left, 'tea'), await stage.env.run(right, 'tea')]).toEqual(['both', 'both']);
  });

  test('a step that is not mocked runs for real, with its context', async () => {
    expect(await stage.env.run(identity, undefined, { workflowId: 'me' })).toEqual({
      workflowId: 'me',
      stepName: 'whoAmI',
      hasKey: true,
    });
    expect(await stage.env.run(ownStep, 'text')).toBe('inner text');
    stage.env.mock('inner', (text: string) => `mocked ${text}`);
    expect(await stage.env.run(ownStep, 'text')).toBe('mocked text');
  });

  test('leave the spies of a test runner alone', async () => {
    const spy = vi.spyOn(JSON, 'parse');
    try {
      stage.env.mock(note, (text) => JSON.parse(`${text.length}`) as number);
      expect(await stage.env.run(twoNotes)).toEqual([5, 6]);
      expect(spy).toHaveBeenCalledWith('6');
    } finally {
      spy.mockRestore();
    }
  });

  test('heartbeats are heard at once, by the clock of the test', async () => {
    const beats: unknown[] = [];
    stage.env.mock('beating', async () => {
      const { heartbeat, lastHeartbeat, attempt } = stepContext();
      beats.push(lastHeartbeat);
      for (let i = 1; i <= 3; i++) {
        await stage.env.advance('8 seconds');
        heartbeat({ attempt, i });
      }
      if (attempt === 1) await stage.env.advance('11 seconds');
      return attempt;
    });
    expect(await stage.env.run('beater')).toBe(2);
    expect(beats).toEqual([undefined, { attempt: 1, i: 3 }]);
  });

  test('refuse what is no step', () => {
    expect(() => stage.env.mock('fetchPrise', () => 1)).toThrow(
      'unknown step "fetchPrise": did you mean "fetchPrice"?',
    );
    expect(() => stage.env.mock((async () => 1) as never, () => 1)).toThrow('not a step');
    expect(() => stage.env.mock(price as never, () => 1 as never)).toThrow(
      '"price" is a workflow and no step',
    );
    expect(() => stage.env.mock(note, 5 as never)).toThrow('give a function');
  });

  test('calls are those of one workflow id', async () => {
    stage.env.mock(note, () => 1);
    const one = await stage.env.start(twoNotes);
    const other = await stage.env.start(parallelNotes, ['x']);
    expect(one.calls(note)).toEqual([
      { input: 'first', attempt: 1 },
      { input: 'second', attempt: 1 },
    ]);
    expect(other.calls('note')).toEqual([{ input: 'x', attempt: 1 }]);
    expect(() => other.calls('nothing')).toThrow('unknown step "nothing"');
  });
});

test('breakpoints in a workflow are found by its source, whatever ran it', async () => {
  const session = new Session();
  session.connect();
  const scripts: { url: string; sourceMapURL?: string }[] = [];
  session.on('Debugger.scriptParsed', ({ params }) => scripts.push(params));
  session.post('Debugger.enable');
  await stage.env.run(patient, { waits: [] });
  session.disconnect();
  const { sourceMapURL = '' } = scripts.find(({ url }) => url === 'waiting/workflow.ts')!;
  const [, base64 = ''] = sourceMapURL.split('base64,');
  const { sources } = JSON.parse(Buffer.from(base64, 'base64').toString()) as { sources: string[] };
  expect(sources).toContain(new URL('workflows/waiting/workflow.ts', import.meta.url).href);
});
