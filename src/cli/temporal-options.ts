/**
 * The options that say how a Temporal cluster is reached. The variables are those that Temporal's own programs read,
 * so that what a machine has set up for them counts here as well; only the message size is perdure's own.
 */
import { readFile } from 'node:fs/promises';
import { InvalidArgumentError, Option } from 'commander';
import type { TemporalSettings } from '../temporal/cluster/connection.js';
import { StartError } from './start-failure.js';
import { notEmpty, wholeNumber } from './values.js';

export interface TemporalOptions {
  temporalAddress: string;
  temporalNamespace: string;
  temporalApiKey?: string;
  temporalTls?: boolean;
  temporalTlsCert?: string;
  temporalTlsKey?: string;
  temporalTlsCa?: string;
  temporalTlsServerName?: string;
  temporalMaxMessageSize?: number;
}

export const temporalOptions = () => [
  new Option('--temporal-address <host:port>', 'Temporal cluster to run on')
    .env('TEMPORAL_ADDRESS')
    .default('127.0.0.1:7233')
    .argParser(address),
  new Option('--temporal-namespace <name>', 'namespace of that cluster')
    .env('TEMPORAL_NAMESPACE')
    .default('default')
    .argParser(notEmpty),
  new Option(
    '--temporal-api-key <secret>',
    'API key of the cluster; TLS is on with one, unless told otherwise',
  )
    .env('TEMPORAL_API_KEY')
    .argParser(notEmpty),
  new Option('--temporal-tls <boolean>', 'whether the cluster is reached over TLS')
    .env('TEMPORAL_TLS')
    .argParser(boolean),
  new Option('--temporal-tls-cert <file>', 'client certificate for mutual TLS')
    .env('TEMPORAL_TLS_CLIENT_CERT_PATH')
    .argParser(notEmpty),
  new Option('--temporal-tls-key <file>', 'private key of the client certificate')
    .env('TEMPORAL_TLS_CLIENT_KEY_PATH')
    .argParser(notEmpty),
  new Option('--temporal-tls-ca <file>', 'certificate of the authority that has signed that of the cluster')
    .env('TEMPORAL_TLS_SERVER_CA_CERT_PATH')
    .argParser(notEmpty),
  new Option('--temporal-tls-server-name <name>', 'name that the certificate of the cluster is for')
    .env('TEMPORAL_TLS_SERVER_NAME')
    .argParser(notEmpty),
  new Option('--temporal-max-message-size <bytes>', 'largest message between here and the cluster')
    .env('TEMPORAL_MAX_MESSAGE_SIZE')
    .argParser(wholeNumber(1_048_576, 536_870_912)),
];

/** What does not go together, in words; undefined when everything does. */
export function temporalContradiction(options: TemporalOptions): string | undefined {
  const { temporalTls, temporalTlsCert: cert, temporalTlsKey: key, temporalTlsCa: ca } = options;
  if ((cert === undefined) !== (key === undefined)) {
    const [has, lacks] =
      key === undefined
        ? ['certificate', 'private key (TEMPORAL_TLS_CLIENT_KEY_PATH)']
        : ['private key', 'certificate (TEMPORAL_TLS_CLIENT_CERT_PATH)'];
    return `mutual TLS has a client ${has} and no ${lacks}`;
  }
  const hasTls = cert !== undefined || ca !== undefined || options.temporalTlsServerName !== undefined;
  if (temporalTls === false && hasTls) return 'TLS is off (TEMPORAL_TLS) and is configured at the same time';
  return undefined;
}

/** With the contents of the files. */
export async function temporalSettings(options: TemporalOptions): Promise<TemporalSettings> {
  const { temporalApiKey: apiKey, temporalMaxMessageSize: maxMessageBytes } = options;
  return {
    address: options.temporalAddress,
    namespace: options.temporalNamespace,
    ...(apiKey !== undefined && { apiKey }),
    tls: await tls(options),
    ...(maxMessageBytes !== undefined && { maxMessageBytes }),
  };
}

async function tls(options: TemporalOptions): Promise<TemporalSettings['tls']> {
  const { temporalTls, temporalApiKey, temporalTlsServerName: serverName } = options;
  const [clientCert, clientKey, serverRootCa] = await Promise.all([
    contents(options.temporalTlsCert, 'client certificate'),
    contents(options.temporalTlsKey, 'private key'),
    contents(options.temporalTlsCa, 'certificate of the authority'),
  ]);
  const isConfigured = [clientCert, clientKey, serverRootCa, serverName].some((part) => part !== undefined);
  if (!isConfigured) return temporalTls ?? temporalApiKey !== undefined;
  return { serverRootCa, clientCert, clientKey, serverName };
}

async function contents(path: string | undefined, what: string): Promise<Buffer | undefined> {
  if (path === undefined) return undefined;
  try {
    return await readFile(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new StartError(`the ${what} for Temporal cannot be read: ${path} (${code})`);
  }
}

function address(value: string): string {
  const port = /^(?:\[[0-9a-f:.]+\]|[^\s:/@[\]]+):(\d{1,5})$/i.exec(value)?.[1];
  if (port !== undefined && Number(port) >= 1 && Number(port) <= 65_535) return value;
  throw new InvalidArgumentError('It must be a host and a port, such as temporal.example.com:7233.');
}

function boolean(value: string): boolean {
  if (/^(true|1)$/i.test(value)) return true;
  if (/^(false|0)$/i.test(value)) return false;
  throw new InvalidArgumentError('It must be true or false.');
}
