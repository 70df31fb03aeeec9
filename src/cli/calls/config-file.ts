/** `perdure.config.ts|js|json`: where the server is and how to speak to it, for the commands that call one. */
import { existsSync, lstatSync, readFileSync, rmSync, type Stats, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { nearestName } from '../../core/values/nearest.js';
import { clearBrokenOff, ofThisProcess } from '../broken-off.js';
import { CommandError, EXIT } from './failure.js';
import { parseJson } from './json-text.js';
import { say } from './screen.js';

const NAMES = ['perdure.config.ts', 'perdure.config.js', 'perdure.config.json'];

/** What may be in it, all of it texts. */
const EXPECTED = {
  server: 'a URL such as "https://perdure.example.com"',
  token: 'the secret as a text',
  tokenFile: 'the path of a file as a text',
  catalog: 'the name of a catalog as a text',
};
type Key = keyof typeof EXPECTED;
const KEYS = Object.keys(EXPECTED) as Key[];

export type ConfigFile = Partial<Record<Key, string>>;

export interface FoundConfig {
  path: string;
  values: ConfigFile;
}

/** The file of the folder or of the nearest one above it. @throws CommandError for one that cannot be used */
export async function findConfig(folder: string): Promise<FoundConfig | undefined> {
  for (let at = resolve(folder); ; at = dirname(at)) {
    const found = NAMES.map((name) => join(at, name)).filter((path) => existsSync(path) && !isPlanted(path));
    if (found.length > 1)
      throw wrong(`${found.map((path) => basename(path)).join(' and ')} are both in ${at}: keep one`);
    if (found[0]) return { path: found[0], values: checked(found[0], await load(found[0])) };
    if (dirname(at) === at) return undefined;
  }
}

const OTHERS_WRITE = 0o002;

const isOpenToAll = (folder: string): boolean => (statSync(folder).mode & OTHERS_WRITE) !== 0;

/**
 * Where everybody may put files, such as in /tmp and what is below it, anybody could run code as whoever calls a server there, or
 * have the token sent elsewhere.
 */
function isPlanted(path: string): boolean {
  const user = process.getuid?.();
  if (user === undefined) return false;
  const isOurs = ({ uid }: Stats) => uid === user || uid === 0;
  // A link's own owner has chosen what is behind it.
  if (isOurs(lstatSync(path)) && isOurs(statSync(path))) return false;
  // Whoever may put a folder there may put anything into it.
  let at = path;
  do at = dirname(at);
  while (!isOpenToAll(at) && at !== dirname(at) && !isOurs(statSync(at)));
  if (!isOpenToAll(at)) return false;
  say(`${path} is passed over: it is another user's, in a folder that everybody can write to`);
  return true;
}

async function load(path: string): Promise<unknown> {
  try {
    if (path.endsWith('.json')) return parseJson(readFileSync(path, 'utf8'));
    if (path.endsWith('.js')) return await loadJavaScript(path);
    return await loadTypeScript(path);
  } catch (error) {
    throw wrong(`${path}${lineOf(path, error)} cannot be read: ${(error as Error).message}`);
  }
}

async function loadJavaScript(path: string): Promise<unknown> {
  try {
    return await defaultOf(pathToFileURL(path).href);
  } catch (error) {
    // Node does not say on which line it is wrong; who makes a bundle of it does.
    if (error instanceof SyntaxError)
      await (await import('../../worker/loading/module.js')).bundleModule(path);
    throw error;
  }
}

/** Of what is thrown when it is run, the stack alone has it; others have it in their message. */
function lineOf(path: string, error: unknown): string {
  const [, after = ''] = String((error as Error).stack).split(pathToFileURL(path).href);
  return /^:\d+/.exec(after)?.[0] ?? '';
}

/** Next to the file, so that what it imports is found; gone as soon as it is loaded. */
async function loadTypeScript(path: string): Promise<unknown> {
  const { bundleModule } = await import('../../worker/loading/module.js');
  const code = await bundleModule(path);
  const prefix = join(dirname(path), `.${basename(path)}.`);
  clearBrokenOff(prefix);
  const built = `${ofThisProcess(prefix)}.mjs`;
  try {
    // There may be a token in it, which others are not to read, and no link of others is followed.
    writeFileSync(built, code, { mode: 0o600, flag: 'wx' });
  } catch {
    // In an image the folder is often another user's, or read-only. Without one, all but the packages that it imports is found.
    return defaultOf(`data:text/javascript,${encodeURIComponent(code)}`);
  }
  try {
    return await defaultOf(pathToFileURL(built).href);
  } finally {
    rmSync(built, { force: true });
  }
}

const defaultOf = async (url: string): Promise<unknown> =>
  ((await import(url)) as { default: unknown }).default;

function checked(path: string, given: unknown): ConfigFile {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw wrong(`${path} must give an object (export default { … }) with any of ${KEYS.join(', ')}`);
  }
  // What is undefined is left out: a variable of the environment that is not set, mostly.
  const values = Object.fromEntries(
    Object.entries(given).filter(([, value]) => value !== undefined),
  ) as ConfigFile;
  for (const [key, value] of Object.entries(values)) {
    if (!KEYS.includes(key as Key)) {
      const nearest = nearestName(key, KEYS);
      throw wrong(`${path} has an unknown key "${key}"${nearest ? `: did you mean "${nearest}"?` : ''}`);
    }
    if (typeof value !== 'string' || value === '')
      throw wrong(`${key} in ${path} is ${kindOf(value)}: give ${EXPECTED[key as Key]}`);
  }
  // Whichever folder below it the command is called in.
  if (values.tokenFile !== undefined) values.tokenFile = resolve(dirname(path), values.tokenFile);
  return values;
}

/** Not the value itself, which may be a secret. */
function kindOf(value: unknown): string {
  if (value === '') return 'empty';
  if (value === null || typeof value === 'boolean') return String(value);
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

const wrong = (message: string) => new CommandError(EXIT.wrongUse, message);
