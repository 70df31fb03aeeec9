/** Which server a command calls, with what, and where each of that was said: flag, environment, file or default. */
import { relative } from 'node:path';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { type Client, createClient, UnexpectedAnswerError } from '../../client/index.js';
import { splitTokens } from '../../http/door/auth.js';
import { readToken } from '../token.js';
import { duration, isHttpUrl, notEmpty } from '../values.js';
import { findConfig } from './config-file.js';
import { CommandError, EXIT } from './failure.js';

export const DEFAULT_SERVER = 'http://127.0.0.1:3001';
const PATIENCE_MS = 60_000;

export const connectionOptions = () => [
  new Option('--server <url>', `server to call (default ${DEFAULT_SERVER})`)
    .env('PERDURE_SERVER')
    .argParser((value) => {
      if (isHttpUrl(value)) return value;
      throw new InvalidArgumentError('It must be a URL such as https://perdure.example.com.');
    }),
  new Option('--token <secret>', 'secret to present').env('API_AUTH_TOKEN').argParser(notEmpty),
  new Option('--token-file <path>', 'file with that secret').env('API_AUTH_TOKEN_FILE').argParser(notEmpty),
  new Option('--patience <duration>', 'how long a server that is lost in the middle is waited for')
    .env('PERDURE_PATIENCE')
    .default(PATIENCE_MS, '60s')
    .argParser(duration),
];

export interface Setting {
  value: string | undefined;
  /** Where it was said. */
  source: string;
}

export type Settings = Record<'server' | 'token' | 'catalog', Setting>;

/** What is in force for the command. @throws CommandError */
export async function settingsOf(command: Command): Promise<Settings> {
  const config = await findConfig(process.cwd());
  const given = (key: 'server' | 'token' | 'tokenFile' | 'catalog'): Setting | undefined => {
    const option = command.options.find((each) => each.attributeName() === key);
    const source = command.getOptionValueSource(key);
    const value = command.opts()[key] as string | undefined;
    if (value !== undefined && source === 'cli') return { value, source: option!.long! };
    if (value !== undefined && source === 'env') return { value, source: option!.envVar! };
    return undefined;
  };
  const filed = (key: 'server' | 'token' | 'tokenFile' | 'catalog'): Setting | undefined => {
    const value = config?.values[key];
    return value === undefined ? undefined : { value, source: relative('.', config!.path) || config!.path };
  };
  const read = (file: Setting | undefined): Setting | undefined =>
    file && { value: tokenOf(file), source: `${file.source} (${file.value})` };
  const server = given('server') ?? filed('server') ?? { value: DEFAULT_SERVER, source: 'default' };
  if (!isHttpUrl(server.value!)) {
    throw new CommandError(
      EXIT.wrongUse,
      `server in ${server.source} is ${server.value}: give a URL such as https://perdure.example.com`,
    );
  }
  return {
    server,
    token: given('token') ??
      read(given('tokenFile')) ??
      filed('token') ??
      read(filed('tokenFile')) ?? { value: undefined, source: 'none' },
    catalog: given('catalog') ?? filed('catalog') ?? { value: undefined, source: 'default of the server' },
  };
}

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

let called = 'the server';
/** Whom this process calls, for messages. */
export const calledServer = (): string => called;

export async function connect(command: Command): Promise<Connection> {
  const { server, token, catalog } = await settingsOf(command);
  called = server.value!;
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
    patient: createClient({ ...options, retryForMs: command.opts<{ patience: number }>().patience }),
  };
}
