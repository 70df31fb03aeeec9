/** Which server a command calls, with what, and where each of that was said: flag, environment, file or default. */
import { relative } from 'node:path';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { type Client, createClient, UnexpectedAnswerError } from '../../client/index.js';
import { withoutTrailingSlashes } from '../../core/values/base-url.js';
import { splitTokens } from '../../http/door/auth.js';
import { readToken } from '../token.js';
import { duration, isHttpUrl, notEmpty } from '../values.js';
import { type FoundConfig, findConfig } from './config-file.js';
import { type Called, CommandError, EXIT } from './failure.js';

export const DEFAULT_SERVER = 'http://127.0.0.1:3001';
const PATIENCE_MS = 60_000;

/** An empty variable counts as one that is not set: that is how scripts leave it out. */
const withEnvironment = (option: Option, name: string): Option =>
  process.env[name] === '' ? option : option.env(name);

export const connectionOptions = () => [
  withEnvironment(
    new Option('--server <url>', `server to call (default ${DEFAULT_SERVER})`).argParser((value) => {
      if (isHttpUrl(value)) return value;
      throw new InvalidArgumentError('It must be a URL such as https://perdure.example.com.');
    }),
    'PERDURE_SERVER',
  ),
  withEnvironment(new Option('--token <secret>', 'secret to present').argParser(notEmpty), 'API_AUTH_TOKEN'),
  withEnvironment(
    new Option('--token-file <path>', 'file with that secret').argParser(notEmpty),
    'API_AUTH_TOKEN_FILE',
  ),
  withEnvironment(
    new Option('--patience <duration>', 'how long a server that is lost in the middle is waited for')
      .default(PATIENCE_MS, '60s')
      .argParser(duration),
    'PERDURE_PATIENCE',
  ),
];

export const catalogOption = (description: string) =>
  withEnvironment(new Option('--catalog <name>', description).argParser(notEmpty), 'PERDURE_CATALOG');

export interface Setting {
  value: string | undefined;
  /** Where it was said. */
  source: string;
}

export type Settings = Record<'server' | 'token' | 'catalog' | 'patience', Setting>;

type Key = 'server' | 'token' | 'tokenFile' | 'catalog';
/** What was said in one place. */
type Place = Partial<Record<Key, Setting & { value: string }>>;

/**
 * What is in force for the command: a flag before the environment, and that before the file. A place that names a server has its
 * token for that one alone. @throws CommandError
 */
export async function settingsOf(command: Command): Promise<Settings> {
  const places = [flagsOf(command), environmentOf(command), filed(await findConfig(process.cwd()))];
  const first = (key: Key): Setting | undefined => places.find((place) => place[key])?.[key];
  const server = first('server') ?? { value: DEFAULT_SERVER, source: 'default' };
  if (!isHttpUrl(server.value!)) {
    throw new CommandError(
      EXIT.wrongUse,
      `server in ${server.source} is ${server.value}: give a URL such as https://perdure.example.com`,
    );
  }
  return {
    server,
    token: tokenFor(server.value!, places),
    catalog: first('catalog') ?? { value: undefined, source: 'default of the server' },
    patience: patienceOf(command),
  };
}

function patienceOf(command: Command): Setting {
  const { long, envVar } = command.options.find((option) => option.attributeName() === 'patience')!;
  const places: Record<string, string | undefined> = { cli: long, env: envVar };
  const place = command.getOptionValueSource('patience')!;
  return { value: `${patienceMs(command) / 1000}s`, source: places[place] ?? place };
}

const patienceMs = (command: Command): number => command.opts<{ patience: number }>().patience;

function flagsOf(command: Command): Place {
  return placeOf(command, (option) => {
    const key = option.attributeName();
    const isGiven = command.getOptionValueSource(key) === 'cli';
    return isGiven ? { value: command.opts()[key] as string, source: option.long! } : undefined;
  });
}

function environmentOf(command: Command): Place {
  return placeOf(command, ({ envVar }) => {
    const value = envVar && process.env[envVar];
    return value ? { value, source: envVar } : undefined;
  });
}

function placeOf(command: Command, said: (option: Option) => Place[Key]): Place {
  return Object.fromEntries(command.options.map((option) => [option.attributeName(), said(option)]));
}

function filed(config: FoundConfig | undefined): Place {
  if (!config) return {};
  const source = relative('.', config.path) || config.path;
  return Object.fromEntries(Object.entries(config.values).map(([key, value]) => [key, { value, source }]));
}

function tokenFor(server: string, places: Place[]): Setting {
  let source = 'none';
  for (const { server: theirs, token, tokenFile } of places) {
    const found = token ?? tokenFile;
    if (!found) continue;
    if (theirs && !isSameServer(theirs.value, server)) {
      source = `none: that of ${found.source} is for ${theirs.value}`;
      continue;
    }
    if (token) return token;
    return { value: tokenOf(found), source: `${found.source} (${found.value})` };
  }
  return { value: undefined, source };
}

const isSameServer = (one: string, other: string): boolean =>
  URL.canParse(one) &&
  withoutTrailingSlashes(new URL(one).href) === withoutTrailingSlashes(new URL(other).href);

function tokenOf({ value }: Setting): string {
  try {
    return readToken(value!);
  } catch (error) {
    throw new CommandError(EXIT.wrongUse, (error as Error).message);
  }
}

export interface Connection {
  server: string;
  catalog: string | undefined;
  /** Says at once when the server is not there. */
  quick: Client;
  /** Waits for a server that restarts: for calls that have begun something. */
  patient: Client;
}

/** Every answer of a perdure server has the header: what succeeds without it was done by somebody else, or not at all. */
const fetchOfPerdure: typeof fetch = async (input, init) => {
  const response = await fetch(input, init);
  const { ok, status, url, headers } = response;
  if (!ok || headers.has('x-request-id')) return response;
  await response.body?.cancel();
  throw new UnexpectedAnswerError(`${url} answered ${status} with something that is not of this API`, {
    status,
  });
};

let called: Called = { server: 'the server', token: { value: undefined, source: 'none' } };
/** Whom this process calls, for messages. */
export const calledServer = (): Called => called;

export async function connect(command: Command): Promise<Connection> {
  const { server, token, catalog } = await settingsOf(command);
  called = { server: server.value!, token };
  const options = {
    baseUrl: server.value!,
    fetch: fetchOfPerdure,
    // Two are given while they are rotated; either is taken.
    ...(token.value !== undefined && { token: splitTokens(token.value)[0] }),
  };
  return {
    server: server.value!,
    catalog: catalog.value,
    quick: createClient({ ...options, retryForMs: 0 }),
    patient: createClient({ ...options, retryForMs: patienceMs(command) }),
  };
}
