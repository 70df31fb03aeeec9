/** The token of the server is for callers and workers; user code of its own workers does not come by it. */
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { takeOneIn } from '../../test/share.js';
import { Workplace } from './program.fixture.js';

takeOneIn(2);

const TOKEN = 'a-secret-that-stands-nowhere-else-4711';
const NEXT_TOKEN = 'a-secret-for-the-time-after-0815';

let workplace: Workplace;
let tokenFile: string;
beforeEach(() => {
  workplace = new Workplace();
  tokenFile = join(workplace.folder, 'token');
  writeFileSync(tokenFile, `  ${TOKEN}\n`, { mode: 0o600 });
});
afterEach(() => workplace.clear());

/** A workflow whose step answers with all that it can read of its process and of the server's. */
function snooping(): string {
  const folder = join(workplace.folder, 'snoop');
  mkdirSync(folder);
  writeFileSync(
    join(folder, 'workflow.js'),
    "import { workflow } from 'perdure';\nimport { snoop } from './steps.js';\nexport default workflow({ name: 'snoop', fn: () => snoop() });\n",
  );
  writeFileSync(
    join(folder, 'steps.js'),
    `import { readFileSync } from 'node:fs';
import { writeHeapSnapshot } from 'node:v8';
import { step } from 'perdure';
const read = (pid, file) => readFileSync('/proc/' + pid + '/' + file, 'utf8');
export const snoop = step({ name: 'snoop', fn: () => ({
  seen: [process.pid, process.ppid].flatMap((pid) => ['environ', 'cmdline'].map((file) => read(pid, file))),
  environment: process.env,
  heap: writeHeapSnapshot(${JSON.stringify(join(workplace.folder, 'heap'))}),
}) });
`,
  );
  return folder;
}

async function snoop(url: string): Promise<string> {
  const response = await fetch(`${url}/workflow/run`, {
    method: 'POST',
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify({ workflowName: 'snoop', input: null }),
  });
  const { output } = (await response.json()) as {
    output: { seen: string[]; environment: object; heap: string };
  };
  expect(output.seen).toHaveLength(4);
  expect(output.seen[3]).not.toBe('');
  return JSON.stringify(output) + readFileSync(output.heap, 'utf8');
}

describe.skipIf(process.platform !== 'linux')('user code', { timeout: 90_000 }, () => {
  it('finds no token that was given by a file', async () => {
    const options = ['--workflows', snooping(), '--workers', '1', '--host', '127.0.0.1'];
    const server = await workplace.serve(options, { API_AUTH_TOKEN_FILE: tokenFile });
    expect((await fetch(`${server.url}/workflow/catalog`)).status).toBe(401);
    const seen = await snoop(server.url);
    expect(seen).not.toContain(TOKEN);
    expect(server.output()).not.toContain(TOKEN);
  });

  it('finds no token that was given on the command line', async () => {
    const options = ['--workflows', snooping(), '--workers', '1', '--host', '127.0.0.1', '--token', TOKEN];
    const server = await workplace.serve(options);
    expect(await snoop(server.url)).not.toContain(TOKEN);
  });
});

describe('a file of the token', () => {
  const ask = async (url: string, token: string) =>
    (await fetch(`${url}/workflow/catalog`, { headers: { authorization: `Bearer ${token}` } })).status;

  it('may hold two, as the variable may', async () => {
    writeFileSync(tokenFile, `${TOKEN}, ${NEXT_TOKEN}`);
    const server = await workplace.serve(['--token-file', tokenFile, '--host', '127.0.0.1']);
    expect([
      await ask(server.url, TOKEN),
      await ask(server.url, NEXT_TOKEN),
      await ask(server.url, 'x'),
    ]).toEqual([200, 200, 401]);
  });

  it('may be there beside the variable, if they say the same', async () => {
    const env = { API_AUTH_TOKEN_FILE: tokenFile, API_AUTH_TOKEN: TOKEN, HOST: '127.0.0.1' };
    const server = await workplace.serve([], env);
    expect(await ask(server.url, TOKEN)).toBe(200);
  });

  it('that others can read is warned of', async () => {
    chmodSync(tokenFile, 0o644);
    const server = await workplace.serve([], { API_AUTH_TOKEN_FILE: tokenFile, HOST: '127.0.0.1' });
    expect(server.output()).toMatch(/every user of this machine can read/);
  });

  it.each([
    ['is not there', undefined, {}, /token.*cannot be read.*ENOENT/],
    ['is empty', ' \n', {}, /has no token in it/],
    ['has several lines', `${TOKEN}\n${NEXT_TOKEN}`, {}, /one line/],
    ['contradicts the variable', TOKEN, { API_AUTH_TOKEN: NEXT_TOKEN }, /API_AUTH_TOKEN_FILE .*differ/],
  ])('that %s is refused', async (_what, text, env, words) => {
    if (text === undefined) rmSync(tokenFile);
    else writeFileSync(tokenFile, text);
    const program = workplace.perdure(['serve', '--port', '0'], { API_AUTH_TOKEN_FILE: tokenFile, ...env });
    expect(await program.exited).toBe(1);
    expect(program.output()).toMatch(words);
    for (const token of [TOKEN, NEXT_TOKEN]) expect(program.output()).not.toContain(token);
  });
});
