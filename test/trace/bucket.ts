/** A bucket in a real S3-compatible server on a free port, and a client of its own to look into it. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import S3rver from '@20minutes/s3rver';
import { DeleteObjectCommand, GetObjectCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import type { ObjectStoreSettings } from '../../src/trace/index.js';

/** The only pair that the server takes; it checks signatures as S3 does. */
export const CREDENTIALS = { AWS_ACCESS_KEY_ID: 'S3RVER', AWS_SECRET_ACCESS_KEY: 'S3RVER' };

/** How the server ends the name of an object's file. */
const OBJECT = '._S3rver_object';
const BUCKETS = ['traces', 'others'];

export class Bucket {
  readonly #directory = mkdtempSync(join(tmpdir(), 'perdure-bucket-'));
  #server: S3rver | undefined;
  #client: S3Client | undefined;
  #port = 0;

  static async start(): Promise<Bucket> {
    const bucket = new Bucket();
    await bucket.start();
    return bucket;
  }

  get endpoint(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  get settings(): ObjectStoreSettings {
    return { bucket: 'traces', region: 'eu-central-1', endpoint: this.endpoint };
  }

  /** Starts, also again after `stop`, with what it had and on the same port. */
  async start(): Promise<void> {
    this.#server = new S3rver({
      address: '127.0.0.1',
      port: this.#port,
      silent: true,
      directory: this.#directory,
      configureBuckets: BUCKETS.map((name) => ({ name })),
    });
    this.#port = (await this.#server.run()).port;
    this.#client ??= new S3Client({ region: 'eu-central-1', endpoint: this.endpoint, forcePathStyle: true });
  }

  async stop(): Promise<void> {
    await this.#server?.close();
    this.#server = undefined;
  }

  async remove(): Promise<void> {
    this.#client?.destroy();
    await this.stop();
    rmSync(this.#directory, { recursive: true, force: true });
  }

  /** As they lie on the server's disk. */
  keys(): string[] {
    const files = readdirSync(join(this.#directory, 'traces'), { recursive: true, encoding: 'utf8' });
    return files.filter((name) => name.endsWith(OBJECT)).map((name) => name.slice(0, -OBJECT.length));
  }

  async get(key: string): Promise<{ type: string | undefined; text: string }> {
    const { Body, ContentType } = await this.#client!.send(
      new GetObjectCommand({ Bucket: 'traces', Key: key }),
    );
    return { type: ContentType, text: await Body!.transformToString() };
  }

  async put(key: string, text: string, bucket = 'traces'): Promise<void> {
    await this.#client!.send(new PutObjectCommand({ Bucket: bucket, Key: key, Body: text }));
  }

  async delete(key: string): Promise<void> {
    await this.#client!.send(new DeleteObjectCommand({ Bucket: 'traces', Key: key }));
  }
}
