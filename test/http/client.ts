/** A caller of the API whose every answer is held against the OpenAPI document. */
import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { Conformance, type OpenApi } from './conformance.js';

export interface Reply {
  status: number;
  headers: Headers;
  text: string;
  // Tests look into answers by name; what they may contain is what the tests are about.
  // biome-ignore lint/suspicious/noExplicitAny: see above
  body: any;
}

export interface Ref {
  workflowId: string;
  runId: string;
}

export interface CallOptions {
  /** Sent as JSON; a text as it is. */
  body?: unknown;
  headers?: Record<string, string>;
}

export class Client {
  private constructor(
    readonly url: string,
    readonly conformance: Conformance,
    private readonly token: string | undefined,
  ) {}

  static async connect(url: string, token?: string): Promise<Client> {
    const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const response = await fetch(`${url}/openapi.json`, { headers });
    return new Client(url, new Conformance((await response.json()) as OpenApi), token);
  }

  async call(method: string, target: string, { body, headers = {} }: CallOptions = {}): Promise<Reply> {
    const sent: Record<string, string> = { ...headers };
    if (this.token !== undefined) sent.authorization ??= `Bearer ${this.token}`;
    if (body !== undefined) sent['content-type'] ??= 'application/json';
    const response = await fetch(this.url + target, {
      method,
      headers: sent,
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    const { status } = response;
    const problem = this.conformance.problem({ method, target, status, headers: response.headers, text });
    expect(problem, `${method} ${target}`).toBeUndefined();
    const isJson = response.headers.get('content-type')?.startsWith('application/json');
    return { status, headers: response.headers, text, body: isJson ? JSON.parse(text) : undefined };
  }

  get(target: string, options?: CallOptions): Promise<Reply> {
    return this.call('GET', target, options);
  }
  post(target: string, body?: unknown, headers?: Record<string, string>): Promise<Reply> {
    return this.call('POST', target, { body, headers });
  }
  patch(target: string, body?: unknown): Promise<Reply> {
    return this.call('PATCH', target, { body });
  }

  /** Starts a workflow under an id of its own. */
  async start(workflowName: string, input: unknown = null, more: object = {}): Promise<Ref> {
    const body = { workflowName, input, workflowId: `${workflowName}-${randomUUID()}`, ...more };
    const reply = await this.post('/workflow/start', body);
    expect(reply.status, reply.text).toBe(200);
    return reply.body as Ref;
  }

  /** Starts it and waits until it has ended. */
  async ended(workflowName: string, input: unknown = null, more: object = {}): Promise<Ref> {
    const ref = await this.start(workflowName, input, more);
    expect((await this.result(ref)).status).toBe(200);
    return ref;
  }

  result({ workflowId }: Pick<Ref, 'workflowId'>): Promise<Reply> {
    return this.get(`/workflow/${encodeURIComponent(workflowId)}/result?wait=20000`);
  }
}

/** The paths of a run: for the latest one, and pinned. */
export const latest = ({ workflowId }: Pick<Ref, 'workflowId'>) =>
  `/workflow/${encodeURIComponent(workflowId)}`;
export const pinned = (ref: Ref) => `${latest(ref)}/runs/${ref.runId}`;

export const UNKNOWN_RUN = '0198c0de-0000-7000-8000-000000000000';

/** Polls, without pausing, until `read` gives something. */
export async function until<T>(read: () => Promise<T | undefined | false>): Promise<T> {
  const deadline = performance.now() + 60_000;
  for (;;) {
    const value = await read();
    if (value !== undefined && value !== false) return value as T;
    if (performance.now() > deadline) throw new Error('it did not happen within 60 s');
    await new Promise(setImmediate);
  }
}

export const expectError = (reply: Reply, status: number, error: string) => {
  expect(reply.body, reply.text).toMatchObject({ error });
  expect(reply.status).toBe(status);
};
