/**
 * Sends requests made up from the OpenAPI document, some at a time, and holds every answer against it: no 5xx, no
 * hang, nothing that the document does not say.
 */
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import fc from 'fast-check';
import { Conformance, type OpenApi } from '../conformance.js';
import { type FuzzRequest, type PoolName, requestsOf } from './requests.js';

/** No generated request asks to wait this long. */
const HANG_MS = 60_000;
/** For the engine behind it: a message to a run that is paused waits as long as this for it to go on. */
export const ENGINE_LIMITS = { messageTimeoutMs: 5_000 };
const AT_A_TIME = 20;
const POOL_SIZE = 300;

export interface FuzzOptions {
  url: string;
  requests: number;
  seed: number;
}

export interface FuzzReport {
  requests: number;
  seed: number;
  byStatus: Record<string, number>;
  /** Operations that never succeeded. */
  refused: string[];
  slowestMs: number;
}

export async function fuzz({ url, requests, seed }: FuzzOptions): Promise<FuzzReport> {
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as OpenApi;
  const fuzzer = new Fuzzer(url, new Conformance(document));
  await fuzzer.prepare();
  const some = fc.array(requestsOf(document), { minLength: 1, maxLength: AT_A_TIME, size: 'max' });
  try {
    for (let round = 0; fuzzer.sent < requests; round++) {
      const numRuns = Math.min(100, Math.ceil((requests - fuzzer.sent) / (AT_A_TIME / 2)));
      const property = fc.asyncProperty(some, async (batch) => {
        await Promise.all(batch.map((each) => fuzzer.send(each)));
      });
      const details = await fc.check(property, { seed: seed + round, numRuns, endOnFailure: true });
      if (details.failed)
        throw new Error(`seed ${details.seed}: ${(details.errorInstance as Error).message}`);
    }
  } finally {
    fuzzer.close();
  }
  return fuzzer.report(seed);
}

class Fuzzer {
  sent = 0;
  #slowestMs = 0;
  readonly #byStatus: Record<string, number> = {};
  readonly #operations = new Set<string>();
  readonly #agent = new Agent({ keepAlive: true, maxSockets: AT_A_TIME });
  readonly #pools: Record<PoolName, string[]> = {
    workflowId: [],
    runId: [],
    pageToken: [],
    cursor: [],
    ticket: [],
  };

  constructor(
    private readonly url: string,
    private readonly conformance: Conformance,
  ) {}

  /** Some runs to begin with. */
  async prepare(): Promise<void> {
    for (const workflowName of [
      'collects',
      'declares',
      'threeSteps',
      'eventful',
      'countsDown',
      'awaitsFeedback',
    ]) {
      const input = workflowName === 'countsDown' ? 2 : 'wait';
      const response = await fetch(`${this.url}/workflow/start`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ workflowName, input }),
      });
      this.#remember(await response.json());
    }
  }

  /** @throws when the answer is not what the document says */
  async send(made: FuzzRequest): Promise<void> {
    const { method } = made;
    const target = this.#targetOf(made);
    const body = this.#bodyOf(made);
    const headers = { ...(body !== undefined && { 'content-type': 'application/json' }), ...made.headers };
    const shown = `${method} ${target.slice(0, 500)} ${JSON.stringify(headers)} ${body?.slice(0, 1_000) ?? ''}`;
    const begun = performance.now();
    const response = await this.#exchange(method, target, headers, body).catch((error: Error) => {
      throw new Error(`${shown}\n  ${error.message} after ${Math.round(performance.now() - begun)} ms`);
    });
    this.sent++;
    this.#slowestMs = Math.max(this.#slowestMs, performance.now() - begun);
    this.#byStatus[response.status] = (this.#byStatus[response.status] ?? 0) + 1;
    const problem = this.#problem(method, target, response);
    if (problem) throw new Error(`${shown}\n  ${response.status}: ${problem}`);
    if (response.status < 400) this.#operations.add(made.operationId);
    if (response.text.startsWith('{')) this.#remember(JSON.parse(response.text));
  }

  #problem(method: string, target: string, response: Answer): string | undefined {
    const { status } = response;
    // The answers of this kind that a caller brings about: a catalog that nobody registered, an update of a run that
    // somebody has paused, and what this engine cannot do.
    const isBroughtAbout =
      (status === 503 && response.text.includes('"CatalogNotAvailableError"')) ||
      (status === 503 && response.text.includes('takes updates once it is resumed')) ||
      (status === 501 && response.text.includes('"NotSupportedByEngineError"'));
    if (status >= 500 && !isBroughtAbout) return `a failure of the server: ${response.text}`;
    if (status >= 400 && /SQLITE|node_modules|\.[jt]s:\d+/.test(response.text))
      return `insides: ${response.text}`;
    return this.conformance.problem({ method, target, ...response });
  }

  #exchange(
    method: string,
    target: string,
    headers: Record<string, string>,
    body: string | undefined,
  ): Promise<Answer> {
    const { hostname, port } = new URL(this.url);
    return new Promise((resolve, reject) => {
      const options = { hostname, port, method, path: target, headers, agent: this.#agent };
      const request = httpRequest(options, (response) => {
        // A stream goes on by design; that it began is all there is to see here.
        const isStream = response.headers['content-type']?.startsWith('text/event-stream');
        const whole = isStream ? Promise.resolve('').finally(() => response.destroy()) : text(response);
        whole.then((content) => resolve(answerOf(response, content)), reject);
      });
      request.setTimeout(HANG_MS, () => request.destroy(new Error('no answer')));
      request.on('error', reject);
      request.end(body);
    });
  }

  #targetOf({ path, params, query }: FuzzRequest): string {
    const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encode(this.#fill(params[name])));
    const search = query.map(([key, value]) => `${encode(key)}=${encode(this.#fill(value))}`).join('&');
    return search === '' ? filled : `${filled}?${search}`;
  }

  #bodyOf({ body }: FuzzRequest): string | undefined {
    if (body === undefined) return undefined;
    return 'text' in body ? body.text : JSON.stringify(this.#fill(body.json));
  }

  /** The value with what the pools have by now. */
  #fill(value: unknown): unknown {
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) return value.map((each) => this.#fill(each));
    if ('$pick' in value && 'at' in value) {
      const pool = this.#pools[value.$pick as PoolName];
      return pool[(value.at as number) % Math.max(1, pool.length)] ?? 'none';
    }
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, this.#fill(member)]));
  }

  #remember(answer: unknown): void {
    const { workflowId, runId, nextPageToken, nextCursor, ticket } = (answer ?? {}) as Record<
      string,
      unknown
    >;
    const isRun = typeof workflowId === 'string' && typeof runId === 'string';
    if (isRun) {
      this.#put('workflowId', workflowId);
      this.#put('runId', runId);
    }
    this.#put('pageToken', nextPageToken);
    this.#put('cursor', nextCursor);
    this.#put('ticket', ticket);
  }

  /** Ids and runs go to the same place of their pools, so that some pairs fit. */
  #put(name: PoolName, value: unknown): void {
    if (typeof value !== 'string') return;
    const pool = this.#pools[name];
    pool.push(value);
    if (pool.length > POOL_SIZE) pool.shift();
  }

  close(): void {
    this.#agent.destroy();
  }

  #refused(): string[] {
    const all = Object.values(this.conformance.document.paths).flatMap((methods) => Object.values(methods));
    return all.map(({ operationId }) => operationId).filter((id) => !this.#operations.has(id));
  }

  report(seed: number): FuzzReport {
    return {
      requests: this.sent,
      seed,
      byStatus: this.#byStatus,
      refused: this.#refused(),
      slowestMs: Math.round(this.#slowestMs),
    };
  }
}

interface Answer {
  status: number;
  headers: Headers;
  text: string;
}

function answerOf({ statusCode, headers }: IncomingMessage, content: string): Answer {
  const given = Object.entries(headers).map(([name, value]) => [name, String(value)] as [string, string]);
  return { status: statusCode!, headers: new Headers(given), text: content };
}

/** Half a character has no percent-encoding; a client would send something else for it as well. */
function encode(value: unknown): string {
  return encodeURIComponent(String(value).replace(/\p{Surrogate}/gu, '\ufffd'));
}
