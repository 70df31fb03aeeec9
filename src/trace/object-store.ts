/**
 * Traces in an object store that speaks the S3 protocol. The client is an optional package, loaded only when a bucket
 * is configured; credentials are found by it, in the places that its users know.
 */
import type { FileHandle } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import type { TraceLimits } from '../core/bounds/limits.js';

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
        requestTimeout: limits.storeIdleTimeoutMs,
        throwOnRequestTimeout: true,
      },
    });
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
      await this.client.send(
        new this.sdk.PutObjectCommand({
          Bucket: this.bucket,
          Key: keyOf(runId),
          Body: body,
          ContentLength: size,
          ContentType: 'application/json',
        }),
        this.#deadline(),
      );
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
      const { Body, ContentLength = 0 } = await this.client.send(command, this.#deadline());
      const body = Body as Readable;
      if (ContentLength <= this.limits.storedBytes) return body;
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
    await this.client.send(command, this.#deadline());
  }

  /** Breaks off what is under way. */
  close(): void {
    this.#closing.abort();
    this.client.destroy();
  }

  #deadline(): { abortSignal: AbortSignal } {
    const timeout = AbortSignal.timeout(this.limits.storeTimeoutMs);
    return { abortSignal: AbortSignal.any([timeout, this.#closing.signal]) };
  }
}

const AWS_SERVICE = /^s3(\.[a-z0-9-]+)?\.amazonaws\.com$/;

function decoded(path: string): string | undefined {
  try {
    return decodeURIComponent(path) || undefined;
  } catch {
    return undefined;
  }
}

const keyOf = (runId: string): string => `${FOLDER}${runId}.json`;
