/** What gets in: values that would reach a prototype, and secrets that must not get out again. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { Guarded } from './guarded.js';

const ENV_CANARY = 'CANARY_of_the_environment_7f3a';
const HEADER_CANARY = 'CANARY_of_a_header_91bc';
const INPUT_CANARY = 'CANARY_of_an_input_5d20';

let guarded: Guarded;
const outputs: string[] = [];

beforeAll(async () => {
  process.env.DATABASE_PASSWORD = ENV_CANARY;
  guarded = await Guarded.start(['--log-level', 'debug', '--traces', 'all']);
});
afterAll(async () => {
  delete process.env.DATABASE_PASSWORD;
  await guarded.close();
});

const result = async (id: string) =>
  (await guarded.call(`/workflow/${id}/result?wait=30000`)).json() as Promise<{
    output: unknown;
    status: string;
  }>;

describe('a value that names a prototype', () => {
  it.each([
    '"__proto__":{"polluted":1}',
    '"\\u005f_proto__":{"polluted":1}',
    '"constructor":{"prototype":{"polluted":1}}',
  ])('is refused wherever it may stand: {%s}', async (member) => {
    const refused = [
      await guarded.post('/workflow/start', `{"workflowName":"polluted","input":{${member}}}`),
      await guarded.post('/workflow/start', `{"workflowName":"polluted","input":{"a":[{${member}}]}}`),
      await guarded.post('/workflow/x/signal/more', `{"payload":{${member}}}`),
      await guarded.post('/workflow/x/update/more', `{${member}}`),
    ];
    expect(refused.map(({ status }) => status)).toEqual([400, 400, 400, 400]);
  });

  it('changes nothing in the workflow, the step, a handler and a replay, and comes back as it was', async () => {
    const input = { toString: 1, hasOwnProperty: 2, valueOf: { a: 1 }, constructor: 'x' };
    const own = Object.keys(input);
    const start = await guarded.post('/workflow/start', { workflowName: 'polluted', input, workflowId: 'p' });
    expect(start.status).toBe(200);
    for (let i = 0; i < 2; i++) {
      expect((await guarded.post('/workflow/p/signal/more', { payload: input })).status).toBe(200);
      const seen = await guarded.post('/workflow/p/query/seen');
      expect(await seen.json()).toEqual(Array(i + 1).fill({ own, polluted: null }));
      // The second time it is replayed by a new process, from what is on disk.
      if (i === 0) {
        outputs.push(guarded.service.output);
        await guarded.service.kill();
        await guarded.begin(['--log-level', 'debug', '--traces', 'all']);
      }
    }
    await guarded.post('/workflow/p/signal/finish');
    const looked = { own, polluted: null };
    const { output } = await result('p');
    expect(output).toEqual({ ...looked, step: looked, got: [looked, looked] });
    const given = (await (await guarded.call('/workflow/p/input')).json()) as { input: unknown };
    expect(given.input).toEqual(input);
  });

  it('in a query changes nothing either', async () => {
    const response = await guarded.call('/workflow/p/status?__proto__=1&constructor[prototype][polluted]=1');
    expect([200, 400]).toContain(response.status);
    expect((await guarded.call('/workflow/runs?__proto__=1')).status).toBe(400);
  });
});

describe('a secret', () => {
  let stream = '';
  let history = '';

  beforeAll(async () => {
    const start = await guarded.call('/workflow/start', {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-secret': HEADER_CANARY,
        cookie: `session=${HEADER_CANARY}`,
      },
      body: JSON.stringify({ workflowName: 'leaks', input: INPUT_CANARY, workflowId: 'leaks' }),
    });
    expect(start.status).toBe(200);
    expect((await result('leaks')).status).toBe('failed');
    stream = await (await guarded.call('/workflow/leaks/history/stream?includePayloads=true')).text();
    history = await (await guarded.call('/workflow/leaks/history?includePayloads=true&pageSize=1000')).text();
    await guarded.call(`/workflow/leaks/status?token=${guarded.token}`);
    await guarded.call(`/workflow/${HEADER_CANARY.slice(0, 6)}/status`, {
      headers: { authorization: `Bearer ${guarded.token}x` },
    });
    // The trace is written in the background.
    await vi.waitFor(
      () => expect(filesIn(guarded.dataDir).some((file) => file.endsWith('.json'))).toBe(true),
      10_000,
    );
    outputs.push(guarded.service.output);
  });

  const everywhere = () => ({
    stream,
    history,
    log: outputs.join('\n'),
    ...Object.fromEntries(
      filesIn(guarded.dataDir).map((file) => [
        file.slice(guarded.dataDir.length),
        readFileSync(file, 'latin1'),
      ]),
    ),
  });
  const placesWith = (text: string) =>
    Object.entries(everywhere())
      .filter(([, content]) => content.includes(text))
      .map(([place]) => place);

  it('that user code throws is where user code put it, which shows that these tests would find one', () => {
    expect(placesWith('STEP_CANARY')).toEqual(expect.arrayContaining(['stream', 'history']));
    expect(placesWith(INPUT_CANARY).length).toBeGreaterThan(1);
  });

  it('of ours is in no place at all: the token, the header that carries it, headers of callers', () => {
    for (const secret of [guarded.token, 'authorization', HEADER_CANARY])
      expect(placesWith(secret)).toEqual([]);
  });

  it('is not given to the process of a step by the server, which has the environment of its operator alone', () => {
    // What the step printed of its environment and its command line is in its error.
    expect(history).toContain('STEP_CANARY');
    for (const name of ['API_AUTH_TOKEN', 'PERDURE_DATA_DIR', guarded.dataDir, '--token']) {
      expect(history).not.toContain(name);
    }
  });

  it('that callers send is in no line of the log', () => {
    expect(outputs.join('\n')).toContain('STEP_CANARY');
    for (const text of [ENV_CANARY, INPUT_CANARY, HEADER_CANARY, 'includePayloads', 'token=']) {
      expect(outputs.join('\n')).not.toContain(text);
    }
    for (const line of outputs
      .join('\n')
      .split('\n')
      .filter((each) => each !== ''))
      JSON.parse(line);
  });

  it('is in files that belong to their owner alone', () => {
    for (const file of filesIn(guarded.dataDir)) {
      expect([file, (statSync(file).mode & 0o077).toString(8)]).toEqual([file, '0']);
    }
    expect(statSync(guarded.dataDir).mode & 0o077).toBe(0);
  });

  it('of an error of ours is not told: bodies have no stacks, paths or statements', async () => {
    for (const [path, body] of [
      ['/workflow/nobody/status', undefined],
      ['/workflow/leaks/signal/more', {}],
      ['/workflow/leaks/reset', { stepName: 'nothing' }],
      ['/workflow/start', { workflowName: 'nothing', input: 1 }],
      ['/workflow/p/query/nothing', {}],
      ['/workflow/p/update/nothing', {}],
    ] as const) {
      const response = await (body === undefined ? guarded.call(path) : guarded.post(path, body));
      const text = await response.text();
      expect(response.status).toBeGreaterThanOrEqual(400);
      expect(text).not.toMatch(/ at .*:\d+:\d+|SQLITE|SELECT |\/dist\/|\/src\/|node_modules/);
      expect(text).not.toContain(guarded.folder.path);
    }
  });
});

function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name));
}
