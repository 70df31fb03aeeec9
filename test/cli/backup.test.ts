/** Backups by the command line: from a server that runs, from a folder that none has, and back. */
import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Workplace } from '../../src/cli/program.fixture.js';
import { createClient } from '../../src/client/index.js';
import { type Answerer, ScriptedServer } from '../../src/client/scripted-server.fixture.js';
import { begin, call, MAIN } from './shell.js';

const WORKFLOWS = fileURLToPath(new URL('workflows', import.meta.url));

let workplace: Workplace;
let url: string;
let stop: () => Promise<void>;
beforeAll(async () => {
  workplace = new Workplace();
  const server = await workplace.serve([
    ...['--workflows', WORKFLOWS, '--workers', '1', '--spare-workers', '0', '--data', 'original'],
  ]);
  url = server.url;
  stop = async () => {
    server.child.kill('SIGTERM');
    await server.exited;
  };
  const client = createClient({ baseUrl: url });
  for (const workflowId of ['kept-1', 'kept-2'])
    await client.workflow('adds').run({ a: 1, b: 2 }, { workflowId });
});
afterAll(() => workplace.clear());

const at = (name: string) => join(workplace.folder, name);
const perdure = (...args: string[]) => call(args, { cwd: workplace.folder });

/** The runs of a server on that folder. */
async function runsIn(data: string): Promise<string[]> {
  const server = await workplace.serve(['--data', data]);
  const ids: string[] = [];
  for await (const { workflowId } of createClient({ baseUrl: server.url }).runs()) ids.push(workflowId);
  server.child.kill('SIGTERM');
  await server.exited;
  return ids.sort();
}

describe('a backup', () => {
  it('of a server that runs is what another one starts from', async () => {
    const taken = await perdure('backup', 'live.db', '--server', url);
    expect(taken).toMatchObject({ code: 0, stdout: '' });
    expect(taken.stderr).toMatch(/live\.db is complete/);
    const restored = await perdure('restore', 'live.db', '--data', 'new/folder');
    expect(restored.stderr).toMatch(/2 runs are in new\/folder/);
    expect(restored.code).toBe(0);
    expect(readdirSync(at('new/folder'))).toEqual(['perdure.db']);
    expect(await runsIn('new/folder')).toEqual(['kept-1', 'kept-2']);
  });

  it('is complete, or none, behind a proxy that leaves out its length', async () => {
    const bytes = readFileSync(at('live.db'));
    const proxy = await new ScriptedServer().listen();
    const chunked =
      (body: Buffer): Answerer =>
      (response) => {
        response.writeHead(200, { 'x-request-id': '1' }).write(body.subarray(0, 1_000));
        response.end(body.subarray(1_000));
      };
    proxy.script(chunked(bytes), chunked(bytes.subarray(0, -4_096)));
    try {
      expect(await perdure('backup', 'chunked.db', '--server', proxy.url)).toMatchObject({ code: 0 });
      expect(readFileSync(at('chunked.db')).equals(bytes)).toBe(true);
      const half = await perdure('backup', 'cut.db', '--server', proxy.url);
      expect(half.stderr).toBe(
        `perdure: the copy broke off after ${bytes.length - 4_096} of ${bytes.length} bytes: try again\n`,
      );
      expect(half.code).toBe(1);
      expect(existsSync(at('cut.db'))).toBe(false);
    } finally {
      await proxy.close();
    }
  });

  it('overwrites nothing', async () => {
    writeFileSync(at('there.db'), 'mine');
    const taken = await perdure('backup', 'there.db', '--server', url);
    expect(taken.code).toBe(2);
    expect(taken.stderr).toMatch(/there\.db is there already/);
    expect(readFileSync(at('there.db'), 'utf8')).toBe('mine');
    writeFileSync(at('mine.db.part'), 'mine');
    expect(await perdure('backup', 'mine.db', '--server', url)).toMatchObject({ code: 0 });
    expect(readFileSync(at('mine.db.part'), 'utf8')).toBe('mine');
    expect(readdirSync(workplace.folder).filter((name) => name.startsWith('mine.db'))).toHaveLength(2);
    copyFileSync(at('live.db'), at('second.db'));
    const restored = await perdure('restore', 'second.db', '--data', 'new/folder');
    expect(restored.code).toBe(2);
    expect(restored.stderr).toMatch(/has a perdure\.db already/);
  });

  it('is restored where a restore was killed, and not where one is under way', async () => {
    mkdirSync(at(`killed/restoring-${spawnSync('true').pid}-1`), { recursive: true });
    const restored = await perdure('restore', 'live.db', '--data', 'killed');
    expect(restored).toMatchObject({ code: 0 });
    expect(readdirSync(at('killed'))).toEqual(['perdure.db']);
    mkdirSync(at(`busy/restoring-${process.pid}-1`), { recursive: true });
    const refused = await perdure('restore', 'live.db', '--data', 'busy');
    expect(refused.stderr).toMatch(new RegExp(`^perdure: process ${process.pid} restores into busy: wait`));
    expect(refused.code).toBe(2);
    expect(readdirSync(at('busy'))).toEqual([`restoring-${process.pid}-1`]);
  });

  it('takes the place of nothing that comes there while it is looked through', async () => {
    mkdirSync(at('meanwhile'));
    // Not seen at first, and in the way in the end.
    symlinkSync('not mounted', at('meanwhile/perdure.db'));
    const refused = await perdure('restore', 'live.db', '--data', 'meanwhile');
    expect(refused.stderr).toMatch(/meanwhile has a perdure\.db already, and nothing is overwritten/);
    expect(refused.code).toBe(2);
    expect(readdirSync(at('meanwhile'))).toEqual(['perdure.db']);
    expect(readlinkSync(at('meanwhile/perdure.db'))).toBe('not mounted');
  });

  it('knows a database by its own name, also behind a link', async () => {
    // As a kill leaves it, with its last commits in the log.
    mkdirSync(at('log'));
    copyFileSync(at('live.db'), at('log/perdure.db'));
    writeFileSync(at('log/perdure.db-wal'), 'commits');
    symlinkSync('log/perdure.db', at('linked.db'));
    const refused = await perdure('restore', 'linked.db', '--data', 'of-link');
    expect(refused.stderr).toMatch(
      /linked\.db is not all of a database: .*log\/perdure\.db-wal has its last/,
    );
    expect(refused.code).toBe(2);
    expect(existsSync(at('of-link'))).toBe(false);
  });

  it('leaves nothing behind when it fails', async () => {
    symlinkSync('not mounted/none.db', at('unmounted.db'));
    const unmounted = await perdure('backup', 'unmounted.db', '--server', url);
    expect(unmounted).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/unmounted\.db is there already/),
    });
    const nowhere = await perdure('backup', 'none.db', '--server', 'http://127.0.0.1:1');
    expect(nowhere.code).toBe(5);
    const folder = await perdure('backup', 'no-such-folder/none.db', '--server', url);
    expect(folder.code).toBe(2);
    expect(folder.stderr).toMatch(/nothing can be written into no-such-folder \(ENOENT\)/);
    expect(readdirSync(workplace.folder).filter((name) => name.includes('none.db'))).toEqual([]);
  });

  it('takes away what one to the same file has left that was killed, and not what one under way has', async () => {
    const killed = `b.db.part-${spawnSync('true').pid}-${randomUUID()}`;
    const underWay = `b.db.part-${process.pid}-${randomUUID()}`;
    const others = `b.db.part-${spawnSync('true').pid}-of-3`;
    for (const left of [killed, `${killed}-journal`, underWay, others]) writeFileSync(at(left), 'half');
    expect(await perdure('backup', 'b.db', '--server', url)).toMatchObject({ code: 0 });
    const there = readdirSync(workplace.folder).filter((name) => name.startsWith('b.db'));
    expect(there.sort()).toEqual(['b.db', underWay, others].sort());
  });

  it.each(['server', 'folder'])(
    'of a %s leaves nothing where it finds no space, and says where that was',
    (of) => {
      const name = `small-${of}.db`;
      const source = of === 'server' ? ['--server', url] : ['--data', 'new/folder'];
      // As on a disk that fills up: no file gets larger than this.
      const limit = 'ulimit -f 80; exec "$0" "$@"';
      const args = ['-c', limit, process.execPath, MAIN, 'backup', name, ...source];
      const taken = spawnSync('sh', args, { cwd: workplace.folder, encoding: 'utf8' });
      expect(taken.stderr).toMatch(
        of === 'server'
          ? /^perdure: small-server\.db cannot be written \(EFBIG\)/
          : /^perdure: there is no copy: \. does not take it/,
      );
      expect(taken.status).toBe(2);
      expect(readdirSync(workplace.folder).filter((each) => each.startsWith(name))).toEqual([]);
    },
  );

  it('is looked through before it is restored', async () => {
    const bytes = readFileSync(at('live.db'));
    for (const [name, content, reason] of [
      [
        'text.db',
        Buffer.from('not a database at all, but long enough to be looked at as one'.repeat(100)),
        /^perdure: text\.db is no backup: give a file that `perdure backup` has made/,
      ],
      ['empty.db', Buffer.alloc(0), /^perdure: empty\.db is no backup/],
      ['half.db', bytes.subarray(0, bytes.length / 2), /half\.db is damaged/],
    ] as const) {
      writeFileSync(at(name), content);
      const { code, stderr } = await perdure('restore', name, '--data', 'fresh');
      expect(stderr).toMatch(reason);
      expect(stderr).not.toContain('restoring-');
      expect(stderr).not.toMatch(/^\s+at /m);
      expect([1, 2]).toContain(code);
      expect(existsSync(at('fresh/perdure.db'))).toBe(false);
    }
    const ofAFolder = await perdure('restore', 'original', '--data', 'fresh');
    expect(ofAFolder).toMatchObject({ code: 2, stderr: expect.stringContaining('original is no backup') });
    expect(await perdure('restore', 'missing.db', '--data', 'fresh')).toMatchObject({ code: 2 });
    expect(await perdure('restore', 'live.db')).toMatchObject({ code: 2 });
  });

  it('of a folder is refused while a server has it, and made when none has', async () => {
    const busy = await perdure('backup', 'folder.db', '--data', 'original');
    expect(busy.code).toBe(2);
    expect(busy.stderr).toMatch(/in use/);
    await stop();
    expect(
      await begin(['backup', 'folder.db', '--data', 'original'], { cwd: workplace.folder }).ended,
    ).toMatchObject({
      code: 0,
    });
    mkdirSync(at('empty'));
    expect(await perdure('restore', 'folder.db', '--data', 'empty')).toMatchObject({ code: 0 });
    expect(await runsIn('empty')).toEqual(['kept-1', 'kept-2']);
    expect((await perdure('backup', 'other.db', '--data', 'empty/none')).stderr).toMatch(/no database in/);
  });

  it('takes names as they are, with a space in front', async () => {
    expect(await perdure('backup', ' spaced.db', '--data', 'original')).toMatchObject({ code: 0 });
    expect(readdirSync(workplace.folder).filter((name) => name.includes('spaced'))).toEqual([' spaced.db']);
    expect(await perdure('restore', ' spaced.db', '--data', ' spaced')).toMatchObject({ code: 0 });
    mkdirSync(at('spaced'));
    expect(await runsIn(' spaced')).toEqual(['kept-1', 'kept-2']);
    expect((await perdure('check', '--data', ' spaced')).stdout).toMatch(/^2 runs in/);
    expect(readdirSync(at('spaced'))).toEqual([]);
  });
});
