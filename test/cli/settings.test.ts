/** Which server is called with which token and catalog, by what the server is sent: flag, environment, file, default. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { json, ScriptedServer } from '../../src/client/scripted-server.fixture.js';
import { call } from './shell.js';

let here: ScriptedServer;
let there: ScriptedServer;
let folder: string;
beforeAll(async () => {
  const answer = json(200, { catalog: 'default', workflows: [] }, { 'x-request-id': '1' });
  [here, there] = await Promise.all([
    new ScriptedServer().script(answer).listen(),
    new ScriptedServer().script(answer).listen(),
  ]);
  folder = mkdtempSync(join(tmpdir(), 'perdure-settings-'));
});
afterAll(async () => {
  await Promise.all([here.close(), there.close()]);
  rmSync(folder, { recursive: true, force: true });
});

interface Said {
  flags?: string[];
  env?: Record<string, string>;
  file?: Record<string, string>;
}

/** A folder with the configuration, and one below it in which commands are called. */
function place(file: Said['file'] | string): string {
  const above = mkdtempSync(join(folder, 'in-'));
  const text = typeof file === 'string' ? file : JSON.stringify(file ?? {});
  writeFileSync(join(above, 'perdure.config.json'), text);
  for (const name of ['flag', 'env', 'file']) writeFileSync(join(above, name), `${name}-token-of-a-file\n`);
  mkdirSync(join(above, 'below'));
  return join(above, 'below');
}

const catalog = ({ flags = [], env = {}, file }: Said) =>
  call(['catalog', ...flags], { cwd: place(file), env });

/** What a server was sent by the call: its token and the path. */
async function sentTo(server: ScriptedServer, said: Said) {
  const before = server.received.length;
  const { code, stderr } = await catalog(said);
  expect([code, stderr]).toEqual([0, '']);
  const [received] = server.received.slice(before);
  return { token: received?.headers.authorization?.replace('Bearer ', ''), target: received?.target };
}

describe('a flag wins over the environment, and that over the file', () => {
  it.each<[string, Said, string]>([
    ['file', { file: { token: 'f' } }, 'f'],
    ['file of the file', { file: { tokenFile: 'file' } }, 'file-token-of-a-file'],
    ['environment', { env: { API_AUTH_TOKEN: 'e' }, file: { token: 'f' } }, 'e'],
    [
      'file of the environment',
      { env: { API_AUTH_TOKEN_FILE: '../env' }, file: { token: 'f' } },
      'env-token-of-a-file',
    ],
    ['flag', { flags: ['--token', 'a'], env: { API_AUTH_TOKEN: 'e' }, file: { token: 'f' } }, 'a'],
    [
      'file of the flag',
      { flags: ['--token-file', '../flag'], env: { API_AUTH_TOKEN: 'e' } },
      'flag-token-of-a-file',
    ],
    [
      'flag over a file of the environment',
      { flags: ['--token', 'a'], env: { API_AUTH_TOKEN_FILE: '../env' } },
      'a',
    ],
    [
      'file where the variables are empty',
      { env: { API_AUTH_TOKEN: '', API_AUTH_TOKEN_FILE: '' }, file: { token: 'f' } },
      'f',
    ],
  ])('token: %s', async (_what, said, token) => {
    const env = { ...said.env, PERDURE_SERVER: here.url };
    expect(await sentTo(here, { ...said, env })).toMatchObject({ token });
  });

  it.each<[string, Said, string]>([
    ['file', { file: { catalog: 'f' } }, '/f'],
    ['environment', { env: { PERDURE_CATALOG: 'e' }, file: { catalog: 'f' } }, '/e'],
    ['flag', { flags: ['--catalog', 'a'], env: { PERDURE_CATALOG: 'e' }, file: { catalog: 'f' } }, '/a'],
    ['file where the variable is empty', { env: { PERDURE_CATALOG: '' }, file: { catalog: 'f' } }, '/f'],
    ['default', {}, ''],
  ])('catalog: %s', async (_what, said, path) => {
    const env = { ...said.env, PERDURE_SERVER: here.url };
    expect(await sentTo(here, { ...said, env })).toMatchObject({ target: `/workflow/catalog${path}` });
    const shown = await call(['config', '--json', ...(said.flags ?? [])], { cwd: place(said.file), env });
    expect(JSON.parse(shown.stdout).catalog.value).toBe(path.slice(1) || null);
  });

  it('server, and empty variables are none', async () => {
    const [file, env] = [{ server: here.url }, { PERDURE_SERVER: there.url }];
    expect((await sentTo(here, { file })).target).toBeDefined();
    expect((await sentTo(there, { file, env })).target).toBeDefined();
    expect((await sentTo(here, { file, env, flags: ['--server', here.url] })).target).toBeDefined();
    expect(
      (await sentTo(here, { file, env: { PERDURE_SERVER: '', PERDURE_PATIENCE: '' } })).target,
    ).toBeDefined();
  });

  it.each([['--server'], ['--token'], ['--token-file'], ['--catalog']])(
    'an empty %s is refused',
    async (flag) => {
      expect(await catalog({ flags: [flag, ''] })).toMatchObject({ code: 2, stdout: '' });
    },
  );
});

describe('a token goes to the server that was named with it, and to no other', () => {
  it.each<[string, () => Said]>([
    ['of the file', () => ({ file: { server: here.url, token: 'f' }, flags: ['--server', there.url] })],
    ['of the file', () => ({ file: { server: here.url, token: 'f' }, env: { PERDURE_SERVER: there.url } })],
    [
      'in a file of the file',
      () => ({ file: { server: here.url, tokenFile: 'no-such' }, flags: ['--server', there.url] }),
    ],
    [
      'of the environment',
      () => ({ env: { PERDURE_SERVER: here.url, API_AUTH_TOKEN: 'e' }, flags: ['--server', there.url] }),
    ],
  ])('%s', async (_what, said) => {
    expect(await sentTo(there, said())).toEqual({ token: undefined, target: '/workflow/catalog' });
  });

  it('but to whichever is called where none was named with it', async () => {
    const flags = ['--server', there.url];
    expect(await sentTo(there, { flags, env: { API_AUTH_TOKEN: 'e' } })).toMatchObject({ token: 'e' });
    expect(await sentTo(there, { flags, file: { token: 'f' } })).toMatchObject({ token: 'f' });
    expect(
      await sentTo(there, { flags: [`--server=${there.url}/`], file: { server: there.url, token: 'f' } }),
    ).toMatchObject({
      token: 'f',
    });
  });

  it('says so', async () => {
    const cwd = place({ server: here.url, token: 'f' });
    const { stdout } = await call(['config', '--json', '--server', there.url], { cwd });
    expect(JSON.parse(stdout).token).toEqual({
      value: null,
      source: `none: that of ../perdure.config.json is for ${here.url}`,
    });
  });
});

it('says where a file is wrong', async () => {
  const { code, stderr } = await call(['config'], { cwd: place('{\n  "server": x\n}') });
  expect(code).toBe(2);
  expect(stderr).toMatch(/perdure\.config\.json cannot be read: Unexpected token 'x' at line 2, column 13\n/);
  const cwd = mkdtempSync(join(folder, 'module-'));
  writeFileSync(join(cwd, 'package.json'), '{"type":"module"}');
  writeFileSync(
    join(cwd, 'perdure.config.js'),
    'export default {\n  server: "http://x:1"\n  token: "a"\n};\n',
  );
  expect((await call(['config'], { cwd })).stderr).toMatch(
    /perdure\.config\.js cannot be read: .*\n.*perdure\.config\.js:3:2: ERROR: /,
  );
  writeFileSync(
    join(cwd, 'perdure.config.js'),
    'const none = null;\n\nexport default { server: none.url };\n',
  );
  expect((await call(['config'], { cwd })).stderr).toMatch(
    /perdure\.config\.js:3 cannot be read: Cannot read properties/,
  );
});
