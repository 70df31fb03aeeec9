// A PostgreSQL of the benchmark's own: a cluster in a temporary folder, on loopback and a free port, with the settings that
// initdb writes. It must not run as root, so for root it runs as the user that Debian's package makes, or as nobody.
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { freePort, startServer, until } from '../lib/processes.mjs';
import { Unavailable } from './unavailable.mjs';

const DEBIAN = '/usr/lib/postgresql';
/** What makes an acknowledged commit survive a power cut; all three are PostgreSQL's defaults. */
const DURABLE = { fsync: 'on', synchronous_commit: 'on', full_page_writes: 'on' };

function usualFolders() {
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN).sort((a, b) => Number(b) - Number(a)) : [];
  const onPath = spawnSync('pg_config', ['--bindir'], { encoding: 'utf8' });
  return [
    ...versions.map((version) => join(DEBIAN, version, 'bin')),
    ...(onPath.status === 0 ? [onPath.stdout.trim()] : []),
  ];
}

export function findPostgres() {
  const named = process.env.PERDURE_BENCH_POSTGRES;
  const folders = named ? [named] : usualFolders();
  const found = folders.find(
    (folder) => existsSync(join(folder, 'initdb')) && existsSync(join(folder, 'postgres')),
  );
  if (found === undefined) {
    throw new Unavailable(
      `there is no PostgreSQL ${named ? `in ${named}` : 'on this machine'}: install the server (Debian: apt-get install postgresql), or name the folder of its programs in PERDURE_BENCH_POSTGRES`,
    );
  }
  return found;
}

export const postgresVersion = () =>
  execFileSync(join(findPostgres(), 'postgres'), ['--version'], { encoding: 'utf8' }).trim();

function unprivileged() {
  if (process.getuid?.() !== 0) return {};
  const idOf = (flag, user) => {
    const id = spawnSync('id', [flag, user], { encoding: 'utf8' });
    return id.status === 0 ? Number(id.stdout) : undefined;
  };
  const user = ['postgres', 'nobody'].find((name) => idOf('-u', name) !== undefined);
  if (user === undefined)
    throw new Unavailable('PostgreSQL must not run as root, and there is no other user');
  return { uid: idOf('-u', user), gid: idOf('-g', user) };
}

export async function startPostgres(folder) {
  const bin = findPostgres();
  const as = unprivileged();
  const data = join(folder, 'postgres');
  mkdirSync(data);
  if (as.uid !== undefined) {
    // It has to pass through the folder around its own.
    chmodSync(folder, 0o711);
    chownSync(data, as.uid, as.gid);
  }
  const run = (program, args) =>
    execFileSync(join(bin, program), args, {
      ...as,
      cwd: data,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  run('initdb', [
    '--pgdata',
    data,
    '--username',
    'bench',
    '--auth',
    'trust',
    '--encoding',
    'UTF8',
    '--locale',
    'C',
  ]);
  const port = await freePort();
  const server = startServer(
    join(bin, 'postgres'),
    ['-D', data, '-p', String(port), '-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories='],
    // Otherwise it waits until its clients have gone.
    { logFile: join(folder, 'postgres.log'), stopSignal: 'SIGINT', cwd: data, ...as },
  );
  const url = `postgresql://bench@127.0.0.1:${port}/postgres`;
  const show = (setting) => run('psql', [url, '-XAtc', `SHOW ${setting}`]).trim();
  await until(server, 'PostgreSQL answering', () => show('server_version'));
  for (const [setting, wanted] of Object.entries(DURABLE)) {
    if (show(setting) !== wanted)
      throw new Error(`PostgreSQL runs with ${setting}=${show(setting)}: not durable`);
  }
  return { server, port };
}
