/**
 * Every command against a real server on whichever engine: in a pipe, as programs call it, and in a narrow terminal, with every
 * exit code. What people read in a pipe is in calls.test.ts.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, type TestContext, vi } from 'vitest';
import { type Client, createClient } from '../../src/client/index.js';
import type { HttpSystem, StartHttp } from '../http/system.js';
import {
  begin,
  beginInTerminal,
  type CallOptions,
  call,
  hasTerminal,
  type Outcome,
  withoutEscapes,
} from './shell.js';
import { Wire } from './wire.js';

// Each calls the program several times, which takes its time on a busy machine.
vi.setConfig({ testTimeout: 120_000 });

const folder = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const COLUMNS = 40;
const STACK = /^\s+at /m;

/** What a command is given, and what it says to a person. */
interface Row {
  command: string;
  /** The run that it is called for: one that waits, or one that has ended. */
  on?: 'open' | 'closed';
  args: string[];
  says: RegExp;
  /** What it draws for people is no wider than their terminal. */
  isDrawn?: true;
}

const ROWS: Row[] = [
  { command: 'run', args: ['adds', '{"a":1,"b":2}'], says: /3\s*$/, isDrawn: true },
  { command: 'start', args: ['adds', '{"a":1,"b":2}'], says: /^adds-\w+\s/ },
  { command: 'status', on: 'open', args: [], says: /status +running/ },
  { command: 'why', on: 'open', args: [], says: /message|signal/ },
  { command: 'result', on: 'closed', args: [], says: /^3\s*$/ },
  { command: 'input', on: 'open', args: [], says: /"steps": ?1/ },
  { command: 'history', on: 'closed', args: [], says: /WORKFLOW_EXECUTION_COMPLETED/ },
  { command: 'trace', on: 'closed', args: [], says: /\S/ },
  { command: 'watch', on: 'closed', args: [], says: /completed\s+3\s*$/, isDrawn: true },
  { command: 'cost', on: 'closed', args: [], says: /\S/ },
  { command: 'budget', on: 'open', args: ['9'], says: /9/ },
  { command: 'list', args: ['--all'], says: /^ID .*\n.*adds|waits/, isDrawn: true },
  { command: 'catalog', args: [], says: /^WORKFLOW .*\n\s*adds/, isDrawn: true },
  { command: 'workers', args: [], says: /^CATALOG +STATE .*\ndefault +\S/, isDrawn: true },
  { command: 'signal', on: 'open', args: ['go', '"now"'], says: /go was sent to/ },
  { command: 'query', on: 'open', args: ['got'], says: /^null\s*$/ },
  { command: 'update', on: 'open', args: ['push', '2'], says: /^[23]\s*$/ },
  { command: 'feedback', on: 'open', args: ['{"by":"ada"}'], says: /the feedback was sent to/ },
  { command: 'stop', on: 'open', args: [], says: /was asked to stop/ },
  { command: 'pause', on: 'open', args: ['--reason', 'a look'], says: /was paused/ },
  { command: 'resume', on: 'open', args: [], says: /was resumed/ },
  { command: 'terminate', on: 'open', args: ['--reason', 'enough'], says: /was terminated/ },
  { command: 'reset', on: 'open', args: ['--to-start'], says: /was reset/ },
];

export function everyCommand(startSystem: StartHttp, { hasBackups }: { hasBackups: boolean }): void {
  let system: HttpSystem;
  let client: Client;
  let place: string;
  let env: Record<string, string>;
  beforeAll(async () => {
    place = mkdtempSync(join(tmpdir(), 'perdure-cli-'));
    system = await startSystem({ directory: folder('workflows') });
    client = createClient({ baseUrl: system.server.url });
    env = { PERDURE_SERVER: system.server.url };
    await client.workflow('adds').run({ a: 1, b: 2 }, { workflowId: 'closed' });
  });
  afterAll(async () => {
    await system?.stop();
    rmSync(place, { recursive: true, force: true });
  });

  const perdure = (args: string[], options: CallOptions = {}) =>
    call(args, { cwd: place, ...options, env: { ...env, ...options.env } });

  /** All of it is in `stdout`, as it was on the screen. */
  async function onScreen(context: TestContext, args: string[]): Promise<Outcome> {
    if (!hasTerminal())
      context.skip('there is no `script` on this machine, which gives a program a terminal');
    const ended = await beginInTerminal(args, { env, columns: COLUMNS }).ended;
    return { ...ended, stdout: withoutEscapes(ended.stdout).replaceAll('\r\n', '\n') };
  }

  let ids = 0;
  /** A run that waits for its signal, and has a workflow task behind it. */
  async function open(): Promise<string> {
    const workflowId = `open-${++ids}`;
    const handle = await client
      .workflow('waits')
      .start({ steps: 1 }, { workflowId, budget: { amount: '5', currency: 'USD' } });
    // Queries are answered once there is a handler.
    await expect.poll(() => handle.query('got').catch(() => 'not yet')).toBe(null);
    return workflowId;
  }

  it('has a row for each', async () => {
    const { stdout } = await perdure(['workflow', '--help']);
    const listed = [...stdout.matchAll(/^ {2}([a-z]+) (?:\[options\]|<)/gm)].map(([, name]) => name!);
    expect(listed.length).toBeGreaterThan(15);
    expect(listed.filter((name) => !ROWS.some(({ command }) => command === name))).toEqual([]);
  });

  it.for(ROWS)('$command', async ({ command, on, args, says, isDrawn }, context) => {
    const target = async () => (on === 'open' ? [await open()] : on === 'closed' ? ['closed'] : []);
    const [forPipe, forScreen] = await Promise.all([target(), target()]);
    const [inPipe, screen] = await Promise.all([
      perdure(['workflow', command, ...forPipe, ...args, '--json']),
      onScreen(context, [command, ...forScreen, ...args]),
    ]);
    const answers = inPipe.stdout.trim().split('\n');
    expect(answers.map((line) => JSON.parse(line))).toHaveLength(1);
    expect(inPipe.code).toBe(0);
    expect(screen.stdout).toMatch(says);
    expect(screen.code).toBe(0);
    if (isDrawn) {
      const widths = screen.stdout.split('\n').map((line) => [...line.replace(/^.*\r/, '')].length);
      expect(Math.max(...widths)).toBeLessThanOrEqual(COLUMNS);
    }
    for (const { stdout, stderr } of [inPipe, screen]) expect(stdout + stderr).not.toMatch(STACK);
  });

  describe('exit codes', () => {
    it('1: the workflow failed', async (context) => {
      const [inPipe, screen] = await Promise.all([
        perdure(['run', 'fails', 'null']),
        onScreen(context, ['run', 'fails', 'null']),
      ]);
      expect(inPipe).toMatchObject({ code: 1, stdout: '' });
      expect(inPipe.stderr).toMatch(/perdure: fails-\w+ failed: declined\n/);
      expect(screen.code).toBe(1);
      expect(screen.stdout).toMatch(/perdure: fails-\w+ failed: declined/);
    });

    it.for([
      [2, ['start', 'adds', '{"a":1}'], /input\.b: .*required.*Nothing was sent/s],
      [2, ['start', 'adds', '{"a":1,"b":2}', '--id', 'closed'], /closed/],
      [2, ['signal', 'closed', 'go', '"late"'], /closed/],
      [4, ['status', 'nobody'], /"nobody".*perdure list/],
      [4, ['run', 'ads', '{}'], /did you mean "adds"/],
      [4, ['reset', 'closed', '--step', 'nope'], /nope/],
      [5, ['list', '--server', 'http://127.0.0.1:1'], /no answer from http:\/\/127\.0\.0\.1:1/],
    ] as const)('%i: %j', async ([code, args, says], context) => {
      const [inPipe, screen] = await Promise.all([perdure([...args]), onScreen(context, [...args])]);
      expect(inPipe.stderr).toMatch(says);
      expect([inPipe.code, inPipe.stdout]).toEqual([code, '']);
      expect(screen.stdout).toMatch(says);
      expect(screen.code).toBe(code);
      expect(inPipe.stderr + screen.stdout).not.toMatch(STACK);
    });

    it('3: watching was lost, and the run that was started goes on', async (context) => {
      if (!hasTerminal())
        context.skip('there is no `script` on this machine, which gives a program a terminal');
      const wire = await Wire.to(system.server.url);
      const lost = { PERDURE_SERVER: wire.url, PERDURE_PATIENCE: '100ms' };
      const inTerminal = beginInTerminal(['run', 'waits', '{"steps":1}', '--id', 'lost'], { env: lost });
      await expect.poll(() => inTerminal.stdout).toContain('✓');
      wire.cut();
      const { code, stdout } = await inTerminal.ended;
      expect(withoutEscapes(stdout)).toMatch(
        /lost was started, but watching it was lost.*do not start it again/s,
      );
      expect(code).toBe(3);
      expect(await client.handle('lost').status()).toMatchObject({ status: 'running' });
    });

    it('130: interrupted, and the run goes on', async (context) => {
      if (!hasTerminal())
        context.skip('there is no `script` on this machine, which gives a program a terminal');
      const id = await open();
      const watching = beginInTerminal(['watch', id], { env });
      await expect.poll(() => watching.stdout).toContain('✓');
      watching.child.stdin!.write('\u0003');
      const { code, stdout } = await watching.ended;
      expect(withoutEscapes(stdout)).toContain(`interrupted; ${id} goes on`);
      expect(code).toBe(130);
      expect(await client.handle(id).status()).toMatchObject({ status: 'running' });
    });
  });

  it('shows the attempts of a step while it is tried again', async (context) => {
    if (!hasTerminal())
      context.skip('there is no `script` on this machine, which gives a program a terminal');
    await client.workflow('stumbles').start(null, { workflowId: 'stumbling' });
    const inPipe = begin(['watch', 'stumbling'], { cwd: place, env });
    const drawn = beginInTerminal(['watch', 'stumbling'], { env });
    const next = /step stumble \(attempt [2-9]\d*, again (in .*|at once), Error: over a stone\)/;
    const bounds = { timeout: 60_000 };
    await expect
      .poll(() => inPipe.stderr, bounds)
      .toMatch(/step stumble \(attempt [3-9]\d*, .*Error: over a stone\)/);
    await expect.poll(() => withoutEscapes(drawn.stdout), bounds).toMatch(next);
    const now = async () => (await perdure(['status', 'stumbling'])).stdout;
    await expect
      .poll(now, bounds)
      .toMatch(/^now +Step "stumble" has failed \(Error: over a stone\) and is tried again/m);
    await client.handle('stumbling').terminate();
    await Promise.all([inPipe.ended, drawn.ended]);
  });

  it('takes input that a schema coerces, and refuses what it does not', async () => {
    const taken = await perdure(['run', 'coerces', '{"count":"5","tag":12}']);
    expect(taken).toMatchObject({ code: 0, stdout: '{"count":5,"tag":"12"}\n' });
    const refused = await perdure(['run', 'coerces', '{"count":"5","strict":"yes"}']);
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr).toMatch(/input\.strict: .*boolean.*\nNothing was sent/s);
  });

  it('acts on what a filter finds', async () => {
    const found = await Promise.all([open(), open()]);
    // Of the cluster's list, which is behind for a moment.
    await expect.poll(async () => (await client.runsPage({ workflowIdPrefix: found[0]! })).count).toBe(1);
    const args = ['terminate', '--filter', `workflowId=${found[0]}`, '--yes'];
    expect((await perdure(args)).stderr).toMatch(/this would terminate 1 run:.*1 of 1 terminated/s);
    expect(await client.handle(found[1]!).status()).toMatchObject({ status: 'running' });
  });

  describe('replay', () => {
    const replay = (workflows: string, ...args: string[]) =>
      perdure(['replay', '--workflows', folder(workflows), ...args]);

    it('of a history that was written to a file', async () => {
      const id = await open();
      const { stdout } = await perdure(['history', id, '--payloads', '--json']);
      writeFileSync(join(place, 'history.json'), stdout);
      expect(await replay('workflows', 'history.json')).toMatchObject({
        code: 0,
        stdout: '✓ history.json\n',
      });
      const changed = await replay('changed', 'history.json');
      expect(changed.code).toBe(1);
      expect(changed.stdout).toMatch(/^✗ history\.json\n {4}event 5 of the history is .*step "add".*timer/);
      expect(changed.stderr).toMatch(/1 of 1 history does not fit the code in .*patched\(\)/);
    });

    it('of all open runs, which code that has not changed fits', async () => {
      const id = await open();
      await expect.poll(async () => (await client.runsPage({ workflowId: id })).count).toBe(1);
      const fits = await replay('workflows', '--open', '--json');
      expect(fits.stderr).toMatch(/^\d+ histor\w+ fits? the code/);
      const { checked, misfits, results } = JSON.parse(fits.stdout);
      expect([fits.code, misfits]).toEqual([0, 0]);
      expect(results).toHaveLength(checked);
      expect(results).toContainEqual(
        expect.objectContaining({ workflowId: id, workflowType: 'waits', ok: true }),
      );
      const changed = await replay('changed', '--open', '--filter', `workflowId=${id}`, '--json');
      expect(changed.code).toBe(1);
      expect(JSON.parse(changed.stdout)).toMatchObject({
        ...{ checked: 1, misfits: 1 },
        results: [{ workflowId: id, ok: false, eventId: '5', expected: expect.stringContaining('add') }],
      });
      const none = await replay('workflows', '--open', '--filter', 'workflowId=nobody');
      expect(none).toMatchObject({ code: 0, stdout: '', stderr: 'there are no open runs to replay\n' });
    });
  });

  it('backs up, or says what to do instead', async () => {
    const { code, stderr } = await perdure(['backup', 'copy.db']);
    expect(code).toBe(hasBackups ? 0 : 1);
    expect(stderr).toMatch(hasBackups ? /copy\.db is complete/ : /perdure: .*Temporal/);
  });
}
