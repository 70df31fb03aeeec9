/**
 * The options of the commands: each a flag and an environment variable, of which the flag wins. The only place that
 * reads the environment. A value that does not fit is refused here, with one line and exit code 2.
 */
import { availableParallelism } from 'node:os';
import { InvalidArgumentError, Option } from 'commander';
import { CATALOG_PATTERN, isCatalogName, MAX_CATALOG_LENGTH } from '../core/names.js';
import type { ResultFormat } from '../core/run.js';
import { splitTokens } from '../http/auth.js';

export interface ServerSettings {
  port: number;
  host?: string;
  data: string;
  catalog: string;
  workers: number;
  token?: string;
  resultFormat: ResultFormat;
}

export interface WorkerSettings {
  server: string;
  catalog: string;
  workers: number;
  token?: string;
  resultFormat: ResultFormat;
}

export const DEFAULT_WORKFLOWS = './workflows';

export const portOption = () =>
  new Option('--port <number>', 'port to listen on; 0 takes a free one')
    .env('PORT')
    .default(3001)
    .argParser(wholeNumber(0, 65_535));

export const hostOption = () =>
  new Option('--host <address>', 'address to listen on; without a token only loopback')
    .env('HOST')
    .argParser(notEmpty);

export const dataOption = () =>
  new Option('--data <folder>', 'where the database lives; one process at a time')
    .env('PERDURE_DATA_DIR')
    .default('./.perdure')
    .argParser(notEmpty);

export const catalogOption = () =>
  new Option('--catalog <name>', 'catalog that the workflows are registered in')
    .env('PERDURE_CATALOG')
    .default('default')
    .argParser((value) => {
      if (isCatalogName(value)) return value;
      throw new InvalidArgumentError(
        `It must match ${CATALOG_PATTERN.source} and have at most ${MAX_CATALOG_LENGTH} characters.`,
      );
    });

export const workersOption = (count: number) =>
  new Option('--workers <number>', 'worker processes that run the workflows')
    .env('PERDURE_WORKERS')
    .default(count)
    .argParser(wholeNumber(1, 256));

/** One core for the server, the others for workflows. */
export const spareCores = () => Math.max(1, availableParallelism() - 1);

export const serverOption = () =>
  new Option('--server <url>', 'server that the workers connect to')
    .env('PERDURE_SERVER')
    .default('http://127.0.0.1:3001')
    .argParser((value) => {
      if (URL.canParse(value) && /^https?:$/.test(new URL(value).protocol)) return value;
      throw new InvalidArgumentError('It must be a URL such as https://perdure.example.com.');
    });

export const tokenOption = () =>
  new Option(
    '--token <secret>',
    'secret that callers and workers present; two, separated by a comma, while rotating',
  )
    .env('API_AUTH_TOKEN')
    .argParser((value) => {
      try {
        splitTokens(value);
        return value;
      } catch {
        throw new InvalidArgumentError('It is empty.');
      }
    });

export const resultFormatOption = () =>
  new Option('--result-format <form>', 'form in which results of new runs are answered')
    .env('PERDURE_RESULT_FORMAT')
    .default('current')
    .choices(['current', 'legacy']);

export const workflowsOption = () =>
  new Option('--workflows <folder>', 'folder of workflows to run beside the server')
    .env('PERDURE_WORKFLOWS')
    .argParser(notEmpty);

/** Where the workflows are, for the commands that take the folder as an argument. */
export function workflowsFolder(argument: string | undefined): string | undefined {
  return argument ?? (process.env.PERDURE_WORKFLOWS || undefined);
}

export function isProduction(): boolean {
  return process.env.NODE_ENV === 'production';
}

function wholeNumber(min: number, max: number): (value: string) => number {
  return (value) => {
    const number = Number(value);
    if (/^\d{1,9}$/.test(value) && number >= min && number <= max) return number;
    throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
  };
}

function notEmpty(value: string): string {
  if (value.trim() === '') throw new InvalidArgumentError('It is empty.');
  return value;
}
