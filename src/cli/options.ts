/**
 * The options of the commands: each a flag and an environment variable, of which the flag wins. The environment is
 * read here and in temporal-options.ts alone. A value that does not fit is refused, with one line and exit code 2.
 */
import { availableParallelism } from 'node:os';
import { InvalidArgumentError, Option } from 'commander';
import {
  DEFAULT_LIMITS,
  DEFAULT_RUN_TIMEOUT_MS,
  DEFAULT_WORKER_SLOTS,
  MAX_RUN_TIMEOUT_MS,
  MAX_WORKER_SLOTS,
} from '../core/bounds/limits.js';
import type { ResultFormat } from '../core/run/run.js';
import { isVersionName, MAX_VERSION_NAME_LENGTH, VERSION_NAME_PATTERN } from '../core/run/version.js';
import { addressPolicy, type PrivateAddresses } from '../core/values/addresses.js';
import { CATALOG_PATTERN, isCatalogName, MAX_CATALOG_LENGTH } from '../core/values/names.js';
import { splitTokens } from '../http/door/auth.js';
import { parseOrigin } from '../http/door/cors.js';
import { TRACE_MODES, type TraceMode } from '../trace/modes.js';
import type { ObjectStoreSettings } from '../trace/object-store.js';
import { LOG_LEVELS, type LogLevel } from './logs.js';
import { StartError } from './start-failure.js';
import type { TemporalOptions } from './temporal-options.js';
import { byteSize, duration, durationOf, isHttpUrl, notEmpty, publicUrl, wholeNumber } from './values.js';

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

/** Of the worker processes that are started here. */
export interface WorkerProcessSettings {
  catalog: string;
  workers: number;
  spareWorkers: number;
  stepSlots: number;
  turnSlots: number;
  versionName?: string;
  resultFormat: ResultFormat;
  allowPrivateAddresses: PrivateAddresses;
  publicUrl?: string;
}

export interface ServerSettings extends EngineChoice, TraceSettings, WorkerProcessSettings {
  port: number;
  /** Of probes alone; without it they are answered on the other one only. */
  probePort?: number;
  host?: string;
  /** Milliseconds. */
  retention: number;
  /** Bytes. */
  minFreeSpace: number;
  token?: string;
  tokenFile?: string;
  corsOrigins: string[];
  /** Whether the dashboard is served. */
  ui: boolean;
  /** Milliseconds. */
  runTimeout: number;
}

export interface WorkerSettings extends ProcessSettings, EngineChoice, TraceSettings, WorkerProcessSettings {
  server: string;
  token?: string;
  tokenFile?: string;
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

export const probePortOption = () =>
  new Option(
    '--probe-port <number>',
    'port that answers GET /health and GET /ready alone, at once whatever else there is to do; 0 takes a free one',
  )
    .env('PERDURE_PROBE_PORT')
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

export const minFreeSpaceOption = () =>
  new Option('--min-free-space <size>', 'space on the disk below which starts and messages are refused')
    .env('PERDURE_MIN_FREE_SPACE')
    .default(DEFAULT_LIMITS.lowWaterBytes, '128 MiB')
    .argParser(byteSize);

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

export const spareWorkersOption = () =>
  new Option(
    '--spare-workers <number>',
    'processes that stand by with everything loaded, to take over at once; 0 saves their memory',
  )
    .env('PERDURE_SPARE_WORKERS')
    .default(1)
    .argParser(wholeNumber(0, 16));

export const stepSlotsOption = () =>
  new Option('--step-slots <number>', 'steps that one worker process runs at a time')
    .env('PERDURE_STEP_SLOTS')
    .default(DEFAULT_WORKER_SLOTS.steps)
    .argParser(wholeNumber(1, MAX_WORKER_SLOTS));

export const turnSlotsOption = () =>
  new Option('--turn-slots <number>', 'turns of workflows that one worker process is given at a time')
    .env('PERDURE_TURN_SLOTS')
    .default(DEFAULT_WORKER_SLOTS.turns)
    .argParser(wholeNumber(1, MAX_WORKER_SLOTS));

export const versionNameOption = () =>
  new Option(
    '--version-name <name>',
    'what this version of the workflows is called, such as a release or a commit; shown beside its hash',
  )
    .env('PERDURE_VERSION_NAME')
    .argParser((value) => {
      if (isVersionName(value)) return value;
      throw new InvalidArgumentError(
        `It must match ${VERSION_NAME_PATTERN.source} and have at most ${MAX_VERSION_NAME_LENGTH} characters.`,
      );
    });

/** How the processes are started, on every engine. */
export function workerProcesses(settings: WorkerProcessSettings) {
  const { catalog, workers: count, stepSlots, turnSlots, versionName } = settings;
  const { resultFormat, allowPrivateAddresses, publicUrl } = settings;
  const slots = { steps: stepSlots, turns: turnSlots };
  return { catalog, count, slots, versionName, resultFormat, allowPrivateAddresses, publicUrl };
}

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

export const tokenFileOption = () =>
  new Option('--token-file <path>', 'file with that secret, read once at the start')
    .env('API_AUTH_TOKEN_FILE')
    .argParser(notEmpty);

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

export const noUiOption = () =>
  new Option('--no-ui', 'serve the API alone, without the dashboard at /ui/').env('PERDURE_NO_UI');

export const publicUrlOption = () =>
  new Option(
    '--public-url <url>',
    'where outsiders reach the server, for the addresses of callbacks; by default where it is reached from here',
  )
    .env('PERDURE_PUBLIC_URL')
    .argParser(publicUrl);

export const runTimeoutOption = () =>
  new Option('--run-timeout <duration>', 'how long POST /workflow/run waits if its caller does not say')
    .env('PERDURE_RUN_TIMEOUT')
    .default(DEFAULT_RUN_TIMEOUT_MS, '30 s')
    .argParser(durationOf(1, MAX_RUN_TIMEOUT_MS, '1 ms to 1 hour'));

export const privateAddressesOption = (which: PrivateAddresses) =>
  new Option(
    '--allow-private-addresses <which>',
    'private addresses that HTTP requests of workflows may reach: all, none, or networks, separated by commas',
  )
    .env('PERDURE_ALLOW_PRIVATE_ADDRESSES')
    .default(which)
    .argParser((value): PrivateAddresses => {
      if (value === 'all' || value === 'none') return value;
      const networks = value.split(',').map((part) => part.trim());
      try {
        addressPolicy(networks);
        return networks;
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

export const workflowsOption = (what = 'folder of workflows to run beside the server') =>
  new Option('--workflows <folder>', what).env('PERDURE_WORKFLOWS').argParser(notEmpty);

/** Where the workflows are, for the commands that take the folder as an argument. */
export function workflowsFolder(argument: string | undefined): string | undefined {
  return argument ?? (process.env.PERDURE_WORKFLOWS || undefined);
}

export function isProduction(): boolean {
  return process.env.NODE_ENV === 'production';
}
