/**
 * One HTTP exchange of a worker with the world.
 *
 * 1. Where it goes is decided when the connection is made, on the very addresses that are dialled: a name that was
 *    checked first and looked up again could lead elsewhere by then.
 * 2. Every connection is a new one, so none is used that an earlier check let pass. Proxies of the environment are
 *    not used.
 * 3. What comes back is counted after decompression.
 */
import { lookup as lookUp } from 'node:dns';
import { request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import type { Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { addressPolicy, isPublicAddress, type PrivateAddresses } from '../../core/values/addresses.js';
import { FatalError } from '../errors.js';

/** Name resolution included. */
const CONNECT_TIMEOUT_MS = 5_000;
/** As much as a payload of a history may hold several times over; what is larger belongs into a store, not a history. */
const MAX_RESPONSE_BYTES = 10 * 1024 * 1024;

/** The address is not public, and the operator has not allowed it. */
export class BlockedAddressError extends Error {
  readonly nonRetryable = true;
  constructor(host: string, address: string) {
    const what = host === address ? host : `${host}, which is ${address},`;
    super(
      `${what} is not a public address: an operator may allow it with --allow-private-addresses ` +
        '(PERDURE_ALLOW_PRIVATE_ADDRESSES)',
    );
    this.name = 'BlockedAddressError';
  }
}

/** As messages name it, which end up in logs: a query often has a key in it. */
export const named = ({ origin, pathname }: URL): string => origin + pathname;

let isAllowed: (address: string) => boolean = isPublicAddress;

/** For this process, by whoever runs it. */
export function allowPrivateAddresses(allowed: PrivateAddresses): void {
  isAllowed = addressPolicy(allowed);
}

export interface Outgoing {
  method: string;
  headers: Headers;
  body: string | undefined;
  signal: AbortSignal;
}

export interface Answer {
  status: number;
  statusText: string;
  headers: Headers;
  /** Reads the body to its end. */
  text(): Promise<string>;
  /** Leaves the body unread. */
  discard(): void;
}

/** @throws BlockedAddressError before anything is sent */
export async function exchange(url: URL, outgoing: Outgoing): Promise<Answer> {
  const { method, body, signal } = outgoing;
  signal.throwIfAborted();
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  // The dialler looks up names only.
  if (isIP(host) !== 0 && !isAllowed(host)) throw new BlockedAddressError(host, host);
  const headers = Object.fromEntries(outgoing.headers);
  headers['accept-encoding'] ??= 'gzip, deflate, br';
  headers.accept ??= '*/*';
  if (body !== undefined) headers['content-length'] = String(Buffer.byteLength(body));
  const options: RequestOptions = { method, headers, signal, agent: false, lookup: checkedLookup };
  try {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const request = (url.protocol === 'https:' ? httpsRequest : httpRequest)(url, options, resolve);
      const impatience = setTimeout(() => {
        request.destroy(new Error(`no connection to ${url.host} within ${CONNECT_TIMEOUT_MS / 1_000} s`));
      }, CONNECT_TIMEOUT_MS);
      const connected = url.protocol === 'https:' ? 'secureConnect' : 'connect';
      request.once('socket', (socket) => socket.once(connected, () => clearTimeout(impatience)));
      request.once('close', () => {
        clearTimeout(impatience);
        // An answer that switches the protocol (101) ends the connection without an error and without a response.
        reject(new Error(`the connection to ${url.host} was closed without an answer to the request`));
      });
      request.on('error', reject);
      // A request that is closed already says nothing when it is aborted.
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      request.end(body);
    });
    return answerOf(url, method, response, signal);
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  }
}

/** A name leads to all of its addresses: which of them is dialled is not known here, so none may be private. */
const checkedLookup: LookupFunction = (hostname, options, callback) => {
  lookUp(hostname, { ...options, all: true }, (error, found) => {
    if (error) return callback(error, '');
    const blocked = found.find(({ address }) => !isAllowed(address));
    if (blocked) return callback(new BlockedAddressError(hostname, blocked.address), '');
    if (options.all) return callback(null, found);
    const [first] = found;
    callback(null, first?.address ?? '', first?.family);
  });
};

function answerOf(url: URL, method: string, response: IncomingMessage, signal: AbortSignal): Answer {
  const headers = new Headers();
  for (const [name, values] of Object.entries(response.headersDistinct)) {
    for (const value of values ?? []) headers.append(name, value);
  }
  // Also an answer without a body may say how the body would be compressed.
  const hasBody = method !== 'HEAD' && response.statusCode !== 204 && response.statusCode !== 304;
  return {
    status: response.statusCode ?? 0,
    statusText: response.statusMessage ?? '',
    headers,
    discard: () => response.destroy(),
    async text() {
      try {
        return await readText(
          url,
          hasBody ? decompressed(response, headers.get('content-encoding')) : response,
        );
      } catch (error) {
        throw signal.aborted ? signal.reason : error;
      } finally {
        response.destroy();
      }
    },
  };
}

async function readText(url: URL, body: Readable): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength;
    if (bytes > MAX_RESPONSE_BYTES)
      throw new FatalError(`${named(url)} answers more than ${MAX_RESPONSE_BYTES} bytes`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

const DECOMPRESSORS: Record<string, (() => NodeJS.ReadWriteStream & Readable) | undefined> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

function decompressed(response: IncomingMessage, encoding: string | null): Readable {
  const decompressor = DECOMPRESSORS[encoding?.trim().toLowerCase() ?? '']?.();
  if (!decompressor) return response;
  response.on('error', (error) => decompressor.destroy(error));
  decompressor.on('close', () => response.destroy());
  return response.pipe(decompressor);
}
