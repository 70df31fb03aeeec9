/** What this machine brings along: Node, SQLite, and the disk that the data folder is on. */
import { existsSync, readFileSync, statfsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { StorageProbe } from '../../embedded/store/folder/probe.js';
import { shellWord } from '../shell-word.js';
import { statOf } from '../stat-of.js';
import { trialFolder } from '../trial-folder.js';
import { type Finding, fail, ok, warn } from './finding.js';

const MANIFEST = new URL('../../../package.json', import.meta.url);

export function nodeFinding(version = process.versions.node): Finding {
  const { engines } = JSON.parse(readFileSync(MANIFEST, 'utf8')) as { engines: { node: string } };
  const least = engines.node.replace('>=', '');
  if (isAtLeast(version, least)) return ok('Node', `${version}, ${process.platform} ${process.arch}`);
  return fail('Node', `${version} is too old`, `Install Node ${least} or newer.`);
}

function isAtLeast(version: string, least: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [leastMajor = 0, leastMinor = 0] = least.split('.').map(Number);
  return major > leastMajor || (major === leastMajor && minor >= leastMinor);
}

export interface StorageSettings {
  data: string;
  /** Bytes. */
  minFreeSpace: number;
}

/** Of the database and of the disk below it, found by writing to it. Leaves nothing behind. */
export async function storageFindings(settings: StorageSettings): Promise<Finding[]> {
  const { data } = settings;
  const folder = nearestFolder(data);
  if (folder === undefined) {
    return [fail('data folder', `${data} is not a folder`, 'Name a folder with --data or PERDURE_DATA_DIR.')];
  }
  let place: ReturnType<typeof trialFolder>;
  try {
    place = trialFolder(join(folder, '.perdure-doctor-'));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const remedy = `Let this user write there, or name another folder with --data.`;
    return [
      fail('data folder', `${data} cannot be written to (${code})`, remedy),
      spaceFinding(folder, settings),
    ];
  }
  try {
    return [
      await folderFinding(data),
      ...(await databaseFindings(place.path, data)),
      spaceFinding(folder, settings),
    ];
  } finally {
    place.remove();
  }
}

async function folderFinding(data: string): Promise<Finding> {
  const name = 'data folder';
  if (!existsSync(data)) return ok(name, `${data}, which a server makes when it starts`);
  const { refusalOf } = await import('../../embedded/store/folder/refusal.js');
  let refusal: string | undefined;
  try {
    refusal = refusalOf(data);
  } catch {
    // The trial tells of what is wrong with SQLite.
  }
  if (refusal === undefined) return ok(name, data);
  return fail(
    name,
    refusal,
    `No server starts on it; \`perdure check --data ${shellWord(data)}\` tells more.`,
  );
}

/** The folder itself or the one above it that is there; undefined where a file is in its place. */
function nearestFolder(path: string): string | undefined {
  for (let at = resolve(path); ; at = dirname(at)) {
    const found = statOf(at);
    if (found) return found.isDirectory() ? at : undefined;
    if (dirname(at) === at) return undefined;
  }
}

async function databaseFindings(place: string, data: string): Promise<Finding[]> {
  let probe: StorageProbe;
  try {
    probe = (await import('../../embedded/store/folder/probe.js')).probeStorage(place);
  } catch (error) {
    return [databaseFailure(error as Error, place, data)];
  }
  return [sqliteFinding(probe), speedFinding(probe, statfsSync(place).type)];
}

/** Of a database that was tried in the one folder for the other. */
export function databaseFailure({ name, message }: Error, tried: string, data: string): Finding {
  const [line = message] = message.split('\n');
  if (name === 'DataFolderError' && line.includes(tried)) {
    // What follows is for whoever has started a server on it.
    const [what = line] = line.replace(tried, data).split(/(?<=\)): /);
    return fail('synced write', what, 'Make space, or put the data folder on another disk with --data.');
  }
  return fail(
    'SQLite',
    line,
    'Run `npm rebuild better-sqlite3`; where there is no prebuilt one, that needs a C++ toolchain.',
  );
}

const FULL = 2;

export function sqliteFinding({ sqliteVersion, synchronous }: StorageProbe): Finding {
  const mode = `${sqliteVersion}, synchronous=${synchronous === FULL ? 'FULL' : synchronous}`;
  if (synchronous >= FULL) return ok('SQLite', mode);
  return fail('SQLite', `${mode}: a power cut would lose commits`, 'Reinstall better-sqlite3.');
}

/** A run of three steps makes four commits, and waits for each. */
const SLOW_MS = 25;

/** Kinds of file systems by the number that Linux has for them; other systems say others. */
const TMPFS = 0x01021994;
const NETWORKED = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xff534d42, 'CIFS'],
  [0xfe534d42, 'SMB2'],
]);

export function speedFinding({ medianMs, slowestMs, commits }: StorageProbe, fileSystem: number): Finding {
  const name = 'synced write';
  const speed = `${medianMs.toFixed(1)} ms, the slowest of ${commits} took ${slowestMs.toFixed(1)} ms`;
  const isLinux = process.platform === 'linux';
  const network = isLinux ? NETWORKED.get(fileSystem) : undefined;
  if (network !== undefined) {
    const message = `${speed}; the disk is ${network}, whose locks SQLite cannot rely on`;
    return warn(name, message, 'Put the data folder on a disk of this machine with --data.');
  }
  if (isLinux && fileSystem === TMPFS) {
    return warn(
      name,
      `${speed}; the folder is in memory, and gone when the machine restarts`,
      'Put the data folder on a disk with --data.',
    );
  }
  if (medianMs <= SLOW_MS) return ok(name, speed);
  return warn(
    name,
    `${speed}: every run waits for several of them`,
    'Put the data folder on an SSD of this machine with --data.',
  );
}

const GIB = 2 ** 30;

function spaceFinding(folder: string, { minFreeSpace }: StorageSettings): Finding {
  const { bavail, bsize } = statfsSync(folder);
  const free = bavail * bsize;
  const message = `${(free / GIB).toFixed(1)} GiB are free`;
  if (free < minFreeSpace) {
    const refused = `${message}, below --min-free-space: starts and messages are refused`;
    return fail('disk space', refused, 'Make space, or put the data folder on another disk with --data.');
  }
  if (free < minFreeSpace + GIB) {
    return warn('disk space', message, 'Make space before starts and messages are refused.');
  }
  return ok('disk space', message);
}
