/** The completions, in the shells that they are for. What is not installed is left out, which the end of the run says. */
import { execFile, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, type TestContext, vi } from 'vitest';
import { createClient } from '../../src/client/index.js';
import { type HttpSystem, startSystem } from '../http/system.js';
import { takeOneIn } from '../share.js';
import { beginProgramInTerminal, call, hasTerminal, MAIN, withoutEscapes } from './shell.js';

takeOneIn(2);

// Each calls the program several times, which takes its time on a busy machine.
vi.setConfig({ testTimeout: 120_000 });

const run = promisify(execFile);
const SHELLS = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof SHELLS)[number];

/** What somebody may have chosen as an id. */
const HOSTILE = 'hostile $(touch pwned)';

let place: string;
let system: HttpSystem;
let env: Record<string, string>;
beforeAll(async () => {
  place = mkdtempSync(join(tmpdir(), 'perdure-completion-'));
  mkdirSync(join(place, 'bin'));
  mkdirSync(join(place, 'my-folder'));
  writeFileSync(join(place, 'my-file.json'), '{}');
  // Under its name on the path, as an installation has it.
  writeFileSync(join(place, 'bin/perdure'), `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`);
  chmodSync(join(place, 'bin/perdure'), 0o755);
  for (const shell of SHELLS) {
    const { code, stdout } = await call(['completion', shell]);
    expect(code).toBe(0);
    writeFileSync(join(place, `completion.${shell}`), stdout);
  }
  system = await startSystem({ directory: fileURLToPath(new URL('workflows', import.meta.url)) });
  env = { PATH: `${join(place, 'bin')}:${process.env.PATH}`, HOME: place, PERDURE_SERVER: system.server.url };
  const client = createClient({ baseUrl: system.server.url });
  for (const workflowId of ['order:one', 'order:two', 'other', HOSTILE, 'order:$(id)', '--yes'])
    await client.workflow('waits').start({ steps: 1 }, { workflowId });
});
afterAll(async () => {
  await system?.stop();
  rmSync(place, { recursive: true, force: true });
});

const isInstalled = (shell: Shell) => spawnSync(shell, ['-c', 'exit 0']).status === 0;
function need(context: TestContext, shell: Shell): void {
  if (!isInstalled(shell)) context.skip(`${shell} is not on this machine`);
}

async function inShell(shell: Shell, args: string[]): Promise<string[]> {
  const { stdout, stderr } = await run(shell, args, { cwd: place, env, timeout: 30_000 });
  expect(stderr).toBe('');
  return stdout.split('\n').filter((line) => line !== '');
}

/** What the shell would offer for the last word. */
const OFFERS: Record<'bash' | 'fish', (words: string[]) => Promise<string[]>> = {
  // Bash takes words apart at = and :.
  bash: (words) => {
    const script = `source completion.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _perdure_complete perdure; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const apart = words.flatMap((word) => word.split(/(?<=[=:])|(?=[=:])/));
    return inShell('bash', ['--norc', '--noprofile', '-c', script, 'bash', ...apart]);
  },
  fish: async (words) => {
    const script = 'source completion.fish; complete -C "$argv[1]"';
    const lines = await inShell('fish', ['--no-config', '-c', script, words.join(' ')]);
    return lines.map((line) => line.split('\t')[0]!);
  },
};

describe.for(['bash', 'fish'] as const)('in %s', (shell) => {
  const offers = async (...words: string[]) => (await OFFERS[shell](['perdure', ...words])).sort();

  it('commands, and those below a command', async (context) => {
    need(context, shell);
    expect(await offers('wor')).toEqual(['worker', 'workers', 'workflow']);
    expect(await offers('workflow', 'sta')).toEqual(['start', 'status']);
    expect(await offers('')).toEqual(expect.arrayContaining(['init', 'doctor', 'run', 'serve']));
    expect(await offers('')).not.toContain('__words');
  });

  it('flags of that command alone, and choices', async (context) => {
    need(context, shell);
    const flags = await offers('serve', '--');
    expect(flags).toEqual(expect.arrayContaining(['--engine', '--retention', '--help']));
    expect(flags).not.toContain('--accept-loss');
    expect(await offers('check', '--acc')).toEqual(['--accept-loss']);
    expect(await offers('serve', '--engine', '')).toEqual(['embedded', 'temporal']);
    expect(await offers('completion', '')).toEqual(['bash', 'fish', 'zsh']);
    expect(await offers('list', '--status', 'comp')).toEqual(['completed']);
  });

  it('names of workflows and ids, from the server', async (context) => {
    need(context, shell);
    expect(await offers('run', '')).toEqual(['adds', 'coerces', 'fails', 'plus', 'stumbles', 'waits']);
    expect(await offers('workflow', 'start', '--no-check', 'w')).toEqual(['waits']);
    expect(await offers('list', '--workflow', 'ad')).toEqual(['adds']);
    expect(await offers('status', 'ot')).toEqual(['other']);
    // The second place of run is its input, and every place of stop an id.
    expect(await offers('run', 'adds', '')).toEqual([]);
    expect(await offers('stop', 'other', 'ot')).toEqual(['other']);
    // An id that would be taken for an option.
    expect(await offers('stop', '')).not.toContain('--yes');
  });

  it('names and ids from the server that the line is about', async (context) => {
    need(context, shell);
    const url = env.PERDURE_SERVER!;
    env.PERDURE_SERVER = 'http://127.0.0.1:1';
    try {
      expect(await offers('status', 'ot')).toEqual([]);
      expect(await offers('status', '--server', url, 'ot')).toEqual(['other']);
      expect(await offers('run', `--server=${url}`, '--catalog', 'default', 'ad')).toEqual(['adds']);
    } finally {
      env.PERDURE_SERVER = url;
    }
  });

  it('files and folders where they are meant', async (context) => {
    need(context, shell);
    const bare = (found: string[]) => found.map((name) => name.replace(/\/$/, ''));
    expect(bare(await offers('replay', 'my-'))).toEqual(['my-file.json', 'my-folder']);
    expect(bare(await offers('dev', 'my-'))).toEqual(['my-folder']);
    expect(bare(await offers('check', '--data', 'my-'))).toEqual(['my-folder']);
  });

  it('nothing, and without a word, where no server is', async (context) => {
    need(context, shell);
    const { PERDURE_SERVER } = env;
    env.PERDURE_SERVER = 'http://127.0.0.1:1';
    expect(await offers('run', '')).toEqual([]);
    env.PERDURE_SERVER = PERDURE_SERVER!;
  });
});

it('bash puts words together again that it has taken apart', async (context) => {
  need(context, 'bash');
  const offers = async (...words: string[]) => (await OFFERS.bash(['perdure', ...words])).sort();
  expect(await offers('serve', '--engine=te')).toEqual(['temporal']);
  expect(await offers('status', 'order:t')).toEqual(['two']);
});

it('bash gets ids so that nothing in them is obeyed', async (context) => {
  need(context, 'bash');
  const offers = (...words: string[]) => OFFERS.bash(['perdure', ...words]);
  const quoted = String.raw`hostile\ \$\(touch\ pwned\)`;
  expect(await offers('status', 'hos')).toEqual([quoted]);
  expect(await offers('status', String.raw`hostile\ `)).toEqual([quoted]);
  expect(await offers('status', 'order:$')).toEqual([String.raw`\$\(id\)`]);
});

/** Typed into a shell of their own, as people do it. */
describe.for([
  ['bash', ['--norc', '--noprofile', '-i'], 'source completion.bash'],
  ['zsh', ['-f', '-i'], 'autoload -U compinit && compinit -D -u && source completion.zsh'],
] as const)('at the prompt of %s', ([shell, args, setUp]) => {
  it.for([
    ['wor\tf\t', 'perdure workflow '],
    ['doc\t--tok\t-f\t', 'perdure doctor --token-file '],
    ['serve --engine te\t', 'perdure serve --engine temporal '],
    ['run wai\t', 'perdure run waits '],
    ['status hos\t', String.raw`perdure status hostile\ \$\(touch\ pwned\) `],
  ])('%j', async ([typed, line], context) => {
    need(context, shell);
    if (!hasTerminal())
      context.skip('there is no `script` on this machine, which gives a program a terminal');
    const terminal = beginProgramInTerminal([shell, ...args], {
      cwd: place,
      env: { ...env, PS1: 'ready> ' },
      columns: 200,
    });
    // biome-ignore lint/suspicious/noControlCharactersInRegex: shells take characters back, and ring
    const screen = () => withoutEscapes(terminal.stdout).replaceAll(/.\u0008|\u0007|\r/g, '');
    const says = (text: string) => expect.poll(screen).toContain(text);
    await says('ready> ');
    terminal.child.stdin!.write(`${setUp} && echo set''up\n`);
    await says('setup\n');
    terminal.child.stdin!.write(`perdure ${typed}`);
    await says(line!);
    terminal.child.stdin!.write('\u0015exit\n');
    await terminal.ended;
  });
});
