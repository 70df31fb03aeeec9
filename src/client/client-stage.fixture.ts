/** A client for each test, against a server that fails on purpose. */
import { afterEach, beforeEach, expect } from 'vitest';
import { type Client, type ClientOptions, createClient } from './index.js';
import { type Answerer, json, ScriptedServer } from './scripted-server.fixture.js';

export const RUN = '01900000-0000-7000-8000-000000000001';
export const NEXT = '01900000-0000-7000-8000-000000000002';
export const REF = { workflowId: 'w', runId: RUN };

export class ClientStage {
  server!: ScriptedServer;

  constructor() {
    beforeEach(async () => {
      this.server = await new ScriptedServer().listen();
    });
    afterEach(() => this.server.close());
  }

  readonly client = (options: Partial<ClientOptions> = {}): Client =>
    createClient({ baseUrl: this.server.url, ...options });

  readonly targets = (): string[] => this.server.received.map(({ method, target }) => `${method} ${target}`);

  readonly keys = (): unknown[] => this.server.received.map(({ headers }) => headers['idempotency-key']);
}

export const result = (status: string, more: object = {}): Answerer =>
  json(200, { v: '2', ...REF, status, input: null, output: null, trace: null, error: null, ...more });

/** What the promise was rejected with. */
export async function rejection<E>(promise: Promise<unknown>, type: new (...args: never[]) => E): Promise<E> {
  const thrown = await promise.then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(thrown).toBeInstanceOf(type);
  return thrown as E;
}
