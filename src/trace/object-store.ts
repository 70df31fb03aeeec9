/**
 * Traces in an object store that speaks the S3 protocol. The client is an optional package, loaded only when a bucket
 * is configured; credentials are found by it, in the places that its users know.
 */
import type { FileHandle } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import type { TraceLimits } from '../core/bounds/limits.js';
import { boundedAnswer, openedTrace } from './store-answer.js';

export interface ObjectStoreSettings {
  bucket: string;
  region: string;
  /** For stores other than AWS; addressed with the bucket in the path. */
  endpoint?: string;
}

/** The object store cannot be used; the message is for the person who starts the program. */
export class ObjectStoreError extends Error {
  override readonly name = 'ObjectStoreError';
}

const PACKAGE = '@aws-sdk/client-s3';
const FOLDER = 'traces/';
/** Of all that is no trace, such as what is wrong; the client reads such an answer as a whole. */
const MAX_SAID_BYTES = 1024 * 1024;
/** An upload that is slower gets nowhere. */
const SLOWEST_BYTES_PER_MS = 1_000;

type Sdk = typeof import('@aws-sdk/client-s3');

const loadSdk = (): Promise<Sdk> => import('@aws-sdk/client-s3');

export class ObjectStore {
  readonly #prefix: string;
  readonly #closing = new AbortController();

  private constructor(
    private readonly sdk: Sdk,
    private readonly client: InstanceType<Sdk['S3Client']>,
    private readonly bucket: string,
    private readonly limits: TraceLimits,
  ) {
    this.#prefix = `s3://${bucket}/`;
  }

  static async open(
    { bucket, region, endpoint }: ObjectStoreSettings,
    limits: TraceLimits,
    load: () => Promise<unknown> = loadSdk,
  ): Promise<ObjectStore> {
    const sdk = await load().catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error;
      throw new ObjectStoreError(
        `a bucket for traces is configured, and the package ${PACKAGE} is not installed: npm install ${PACKAGE}`,
      );
    });
    const { S3Client } = sdk as Sdk;
    const client = new S3Client({
      region,
      ...(endpoint !== undefined && { endpoint, forcePathStyle: true }),
      // What fails is told by whoever asked for it, in the service's own log.
      logger: { debug() {}, info() {}, warn() {}, error() {} },
      // Not every store of the protocol knows the newer checksums; the length and the connection's own remain.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      requestHandler: {
        connectionTimeout: limits.storeConnectTimeoutMs,
        throwOnRequestTimeout: true,
      },
      // Whoever does not know the header never asks for the rest.
      expectContinueHeader: false,
    });
    client.middlewareStack.add(boundAnswers(limits), { step: 'deserialize', priority: 'low' });
    return new ObjectStore(sdk as Sdk, client, bucket, limits);
  }

  /** What the URIs of all traces begin with. */
  get placeOfAll(): string {
    return this.#prefix + FOLDER;
  }

  uriOf(runId: string): string {
    return this.#prefix + keyOf(runId);
  }

  /** Whether it is a URI in this store's bucket. */
  holds(uri: string): boolean {
    return uri.startsWith(this.#prefix);
  }

  async put(runId: string, { file, size }: { file: FileHandle; size: number }): Promise<void> {
    const body = file.createReadStream({ autoClose: false });
    try {
      const command = new this.sdk.PutObjectCommand({
        Bucket: this.bucket,
        Key: keyOf(runId),
        Body: body,
        ContentLength: size,
        ContentType: 'application/json',
      });
      const { ETag } = await this.#inTime((options) => this.client.send(command, options), size);
      // A page of somebody in between may come with a 200 too.
      if (ETag === undefined) throw new Error('what answers there is no object store: it names no ETag');
    } finally {
      body.destroy();
    }
  }

  /** The object of a URI that the engine has recorded; undefined when it is gone or in another bucket. */
  async get(uri: string): Promise<Readable | undefined> {
    const key = this.#keyIn(uri);
    if (key === undefined) return undefined;
    try {
      const command = new this.sdk.GetObjectCommand({ Bucket: this.bucket, Key: key });
      const { Body, ContentLength = 0 } = await this.#inTime((options) => this.client.send(command, options));
      const body = Body as Readable;
      if (ContentLength <= this.limits.storedBytes) return await openedTrace(body);
      body.destroy();
      throw new Error(`the object ${uri} has ${ContentLength} bytes, which is no trace`);
    } catch (error) {
      if ((error as Error).name === 'NoSuchKey') return undefined;
      throw error;
    }
  }

  /** Workers of other makers give the address that AWS serves it under. */
  #keyIn(uri: string): string | undefined {
    if (this.holds(uri)) return uri.slice(this.#prefix.length);
    if (!URL.canParse(uri)) return undefined;
    const { protocol, hostname, pathname } = new URL(uri);
    const service = hostname.startsWith(`${this.bucket}.`) ? hostname.slice(this.bucket.length + 1) : '';
    return protocol === 'https:' && AWS_SERVICE.test(service) ? decoded(pathname.slice(1)) : undefined;
  }

  async remove(runId: string): Promise<void> {
    const command = new this.sdk.DeleteObjectCommand({ Bucket: this.bucket, Key: keyOf(runId) });
    await this.#inTime((options) => this.client.send(command, options));
  }

  /** Breaks off what is under way. */
  close(): void {
    this.#closing.abort();
    this.client.destroy();
  }

  /**
   * What a call answers, up to the beginning of an object: reading it takes as long as it takes. What the client does
   * before it calls, such as looking for credentials, has no bound of its own, so this does not wait for the client to stop.
   */
  async #inTime<T>(call: (options: CallOptions) => Promise<T>, uploadedBytes = 0): Promise<T> {
    const { storeTimeoutMs, storeIdleTimeoutMs } = this.limits;
    const uploadMs = uploadedBytes / SLOWEST_BYTES_PER_MS;
    const tooLate = new AbortController();
    const given = storeTimeoutMs + uploadMs;
    const timeout = setTimeout(() => {
      tooLate.abort(new Error(`the store has not answered within ${Math.round(given / 1_000)} s`));
    }, given);
    const abortSignal = AbortSignal.any([tooLate.signal, this.#closing.signal]);
    try {
      return await orAborted(
        call({ abortSignal, requestTimeout: storeIdleTimeoutMs + uploadMs }),
        abortSignal,
      );
    } finally {
      clearTimeout(timeout);
    }
  }
}

interface CallOptions {
  abortSignal: AbortSignal;
  /** To the beginning of the answer. */
  requestTimeout: number;
}

function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

/** Of the answer to a call: the object that was asked for, or a few words. */
function boundAnswers({ storedBytes: traceBytes, storeIdleTimeoutMs: idleMs }: TraceLimits) {
  return (next: Next): Next =>
    async (args) => {
      const result = await next(args);
      const answer = result.response as { statusCode: number; body: Readable };
      const isTrace = (args.request as { method: string }).method === 'GET' && answer.statusCode < 300;
      answer.body = boundedAnswer(answer.body, { bytes: isTrace ? traceBytes : MAX_SAID_BYTES, idleMs });
      return result;
    };
}

// biome-ignore lint/suspicious/noExplicitAny: the client's own types of it need a package of their own
type Next = (args: any) => Promise<any>;

const AWS_SERVICE = /^s3(\.[a-z0-9-]+)?\.amazonaws\.com$/;

function decoded(path: string): string | undefined {
  try {
    return decodeURIComponent(path) || undefined;
  } catch {
    return undefined;
  }
}

const keyOf = (runId: string): string => `${FOLDER}${runId}.json`;
