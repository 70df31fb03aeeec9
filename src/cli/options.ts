/**
 * The options of the commands: each a flag and an environment variable, of which the flag wins. The environment is
 * read here and in temporal-options.ts alone. A value that does not fit is refused, with one line and exit code 2.
 */
import { availableParallelism } from 'node:os';
import { InvalidArgumentError, Option } from 'commander';
import { DEFAULT_LIMITS } from '../core/limits.js';
import { CATALOG_PATTERN, isCatalogName, MAX_CATALOG_LENGTH } from '../core/names.js';
import type { ResultFormat } from '../core/run.js';
import { splitTokens } from '../http/auth.js';
import { parseOrigin } from '../http/cors.js';
import { TRACE_MODES, type TraceMode } from '../trace/modes.js';
import type { ObjectStoreSettings } from '../trace/object-store.js';
import { LOG_LEVELS, type LogLevel } from './logs.js';
import { StartError } from './start-failure.js';
import type { TemporalOptions } from './temporal-options.js';
import { duration, isHttpUrl, notEmpty, wholeNumber } from './values.js';

/** Of the commands that run until they are told to stop. */
interface ProcessSettings {
  logLevel: LogLevel;
  /** Milliseconds. */
  shutdownGrace: number;
}

export const ENGINES = ['embedded', 'temporal'] as const;

interface EngineChoice extends TemporalOptions {
  engine: (typeof ENGINES)[number];
}

/** Where traces are written. */
export interface TraceSettings {
  data: string;
  traces: TraceMode;
  traceBucket?: string;
  traceRegion?: string;
  traceEndpoint?: string;
}

export interface ServerSettings extends EngineChoice, TraceSettings {
  port: number;
  host?: string;
  /** Milliseconds. */
  retention: number;
  catalog: string;
  workers: number;
  token?: string;
  corsOrigins: string[];
  resultFormat: ResultFormat;
}

export interface WorkerSettings extends ProcessSettings, EngineChoice, TraceSettings {
  server: string;
  catalog: string;
  workers: number;
  token?: string;
  resultFormat: ResultFormat;
}

export type ServeSettings = ServerSettings & ProcessSettings & { workflows?: string };

export const DEFAULT_WORKFLOWS = './workflows';

export const engineOption = () =>
  new Option(
    '--engine <name>',
    'what keeps and drives the runs: SQLite on this machine, or a Temporal cluster',
  )
    .env('PERDURE_ENGINE')
    .default('embedded')
    .choices(ENGINES);

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

export const retentionOption = () =>
  new Option('--retention <duration>', 'how long closed runs are kept, such as "30 days"')
    .env('PERDURE_RETENTION')
    .default(DEFAULT_LIMITS.retentionMs, '7 days')
    .argParser(duration);

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
      if (isHttpUrl(value)) return value;
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

export const corsOption = () =>
  new Option('--cors-origins <origins>', 'origins of web pages that may call, separated by commas')
    .env('CORS_ORIGINS')
    .default([], 'none')
    .argParser((value) => {
      const origins = value.split(',').map((part) => part.trim());
      try {
        return origins.filter((part) => part !== '').map(parseOrigin);
      } catch (error) {
        throw new InvalidArgumentError(`${(error as Error).message}.`);
      }
    });

export const resultFormatOption = () =>
  new Option('--result-format <form>', 'form in which results of new runs are answered')
    .env('PERDURE_RESULT_FORMAT')
    .default('current')
    .choices(['current', 'legacy']);

export const tracesOption = (mode: TraceMode) =>
  new Option('--traces <when>', 'runs whose trace is written when they close; others get theirs when asked')
    .env('TRACES')
    .default(mode)
    .choices(TRACE_MODES);

export const traceBucketOption = () =>
  new Option('--trace-bucket <name>', 'bucket of an object store that traces are uploaded to')
    .env('TRACE_BUCKET')
    .argParser(notEmpty);

export const traceRegionOption = () =>
  new Option('--trace-region <name>', 'region of the bucket').env('AWS_REGION').argParser(notEmpty);

export const traceEndpointOption = () =>
  new Option('--trace-endpoint <url>', 'S3-compatible object store to use instead of AWS')
    .env('TRACE_ENDPOINT')
    .argParser((value) => {
      if (isHttpUrl(value)) return value;
      throw new InvalidArgumentError('It must be a URL such as https://store.example.com.');
    });

/** Where traces are uploaded to, if anywhere. */
export function traceStore(settings: TraceSettings): ObjectStoreSettings | undefined {
  const { traceBucket: bucket, traceRegion } = settings;
  if (bucket === undefined) return undefined;
  const { AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL } = process.env;
  const endpoint = settings.traceEndpoint ?? (AWS_ENDPOINT_URL_S3 || AWS_ENDPOINT_URL || undefined);
  // Stores of other makers have no regions, and the protocol wants one all the same.
  const region = traceRegion ?? (endpoint === undefined ? undefined : 'us-east-1');
  if (region !== undefined) return { bucket, region, endpoint };
  throw new StartError('a bucket for traces is in a region: set AWS_REGION, or --trace-region');
}

export const logLevelOption = () =>
  new Option('--log-level <level>', 'least important lines that are logged; debug has one for every call')
    .env('LOG_LEVEL')
    .default('info')
    .choices(LOG_LEVELS);

export const shutdownGraceOption = () =>
  new Option('--shutdown-grace <duration>', 'what running steps get to end when the program is stopped')
    .env('PERDURE_SHUTDOWN_GRACE')
    .default(10_000, '10 s')
    .argParser(duration);

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
