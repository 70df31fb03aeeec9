/**
 * Calls over fetch. Owns what is sent with every one, how long an answer may take, and what is tried again:
 *
 * 1. A call that can be repeated without harm (a read, or a start under its idempotency key) is tried again when the
 *    connection breaks or the server says that it cannot serve now.
 * 2. Any other call is tried again only when the server surely did not take it: nothing was sent, or it said so.
 */
import { withoutTrailingSlashes } from '../core/values/base-url.js';
import { encodePayload, PayloadError } from '../core/values/json.js';
import { type Bounds, bounded, whenAborted } from './bounded.js';
import {
  afterSending,
  apiError,
  CallTimeoutError,
  ClientError,
  ConnectionError,
  isErrorBody,
  UnexpectedAnswerError,
} from './errors.js';
import { Patience, retryAfterMs } from './patience.js';

export interface ClientOptions {
  /** Where the server is, such as `https://perdure.example.com`; a path is kept. In a browser it may be relative. */
  baseUrl: string;
  /** The API token, or what gives it: then it is asked before every call. */
  token?: string | (() => string | Promise<string>) | undefined;
  /** In place of the global `fetch`. */
  fetch?: typeof fetch;
  /** Sent with every call. */
  headers?: Record<string, string>;
  /** How long a server that is away is asked again, in milliseconds; 0 for not at all. Default 60,000. */
  retryForMs?: number;
  /** How long one answer may take, beside what the call asks the server to wait, in milliseconds. Default 30,000. */
  answerWithinMs?: number;
}

/** Every call takes these. */
export interface CallOptions {
  /** Ends the call; it throws the signal's reason. A run that was started goes on. */
  signal?: AbortSignal;
  /** The call as a whole, with everything that is tried again, in milliseconds. Default: as long as it takes. */
  timeoutMs?: number;
}

export interface Call extends CallOptions {
  method: 'GET' | 'POST' | 'PATCH';
  path: string;
  query?: Record<string, string | number | boolean | Date | undefined>;
  /** What is sent as JSON; nothing when undefined. */
  body?: unknown;
  headers?: Record<string, string>;
  /** Whether a repeat does no harm. */
  isRepeatable: boolean;
  /** What the server was asked to wait; `Infinity` when user code decides. */
  waitMs?: number;
  /** Statuses that are answers to this call although others take them for errors. */
  accepts?: readonly number[];
  /** Errors that a repeat is of no use for, although others are repeated after them. */
  isFinal?: (error: unknown) => boolean;
}

const OPTIONS = ['baseUrl', 'token', 'fetch', 'headers', 'retryForMs', 'answerWithinMs'];

const RETRY_FOR_MS = 60_000;
const ANSWER_WITHIN_MS = 30_000;

const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]+$/;
const HEADER_TEXT = /^[\t\x20-\x7e\x80-\xff]*$/;

/** The server, or a proxy before it, cannot serve at the moment. */
const AWAY = [502, 503, 504];
const TOO_MANY_REQUESTS = 429;

/** In Node, what says that there was no connection over which anything could have been sent: while one was looked for. */
const UNSENT = [
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
];
/** A connection that is open can be lost with the same codes, and then from reading or writing. */
const WHILE_CONNECTING = [undefined, 'connect', 'getaddrinfo'];

export class Transport {
  readonly #base: string;
  /** Private at run time as well: whoever writes a client or a handle into a log must not give the secret away. */
  readonly #options: ClientOptions;
  readonly #fetch: typeof fetch;
  readonly answerWithinMs: number;
  readonly #retryForMs: number;

  constructor(options: ClientOptions) {
    const unknown = Object.keys(options).find((key) => !OPTIONS.includes(key));
    if (unknown) throw new TypeError(`createClient has no option "${unknown}"; it has ${OPTIONS.join(', ')}`);
    this.#base = baseOf(options.baseUrl);
    this.#options = options;
    const send = options.fetch;
    // Never as a method of this object, which the one of a browser refuses.
    this.#fetch = (input, init) => (send ? send(input, init) : globalThis.fetch(input, init));
    this.#retryForMs = milliseconds('retryForMs', options.retryForMs ?? RETRY_FOR_MS);
    this.answerWithinMs = milliseconds('answerWithinMs', options.answerWithinMs ?? ANSWER_WITHIN_MS);
  }

  patience(signal?: AbortSignal): Patience {
    return new Patience(this.#retryForMs, signal);
  }

  /**
   * The body of the answer. By `has`, which every such body has, it is told from what another program answers with: many
   * answer with JSON. @throws ClientError, or the reason of the signal
   */
  async json<T>(call: Call, has?: keyof T | ((body: T) => boolean)): Promise<T> {
    return this.answer(call, async (response) => {
      const text = await textOf(response);
      const body = parse(text);
      const isOurs = has === undefined ? body !== NOT_JSON : isObject(body) && fits(body as T & object, has);
      if (!isOurs) throw unexpected(response, text);
      return body as T;
    });
  }

  /** Of a call that is answered without a body. @throws ClientError, or the reason of the signal */
  async nothing(call: Call): Promise<void> {
    await this.answer(call, async (response) => {
      const text = await textOf(response);
      if (response.status !== 204) throw unexpected(response, text);
    });
  }

  text(call: Call): Promise<string> {
    return this.answer(call, textOf);
  }

  /** What `read` makes of the answer. @throws ClientError, or the reason of the signal */
  async answer<T>(call: Call, read: (response: Response) => Promise<T>): Promise<T> {
    return limited(call, async (signal) => {
      const patience = this.patience(signal);
      let isUnsent = true;
      for (;;) {
        try {
          return await this.exchange(call, signal, read);
        } catch (error) {
          const told = isUnsent ? error : afterSending(error);
          if (signal?.aborted || !mayRepeat(call, error)) throw told;
          isUnsent &&= error instanceof ConnectionError && error.isUnsent;
          await patience.wait(told);
        }
      }
    });
  }

  /** One call and its answer, read by `read` within the same bounds. @throws ClientError for everything but a success */
  async exchange<T>(
    call: Call,
    signal: AbortSignal | undefined,
    read: (response: Response, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const { waitMs = 0 } = call;
    const ms = this.answerWithinMs + waitMs;
    const expired = () =>
      new ConnectionError(
        `The server did not answer ${call.method} ${call.path} within ${ms} ms`,
        false,
        undefined,
      );
    // Outside of what is taken for the connection: an error of the caller's own function is none.
    const request = await bounded({ signal }, (either) =>
      Promise.race([this.#request(call), whenAborted(either)]),
    );
    try {
      return await bounded({ signal, ms: Number.isFinite(ms) ? ms : undefined, expired }, async (either) => {
        const response = await this.#fetch(this.#base + call.path + queryOf(call.query), {
          ...request,
          signal: either,
        });
        if (!response.ok && !call.accepts?.includes(response.status)) throw await refusal(response);
        return await read(response, either);
      });
    } catch (error) {
      if (signal?.aborted || error instanceof ClientError) throw error;
      throw connectionError(this.#base, error);
    }
  }

  async #request({ method, body, headers }: Call): Promise<RequestInit> {
    const { token: given, headers: always } = this.#options;
    const token = typeof given === 'function' ? await given() : given;
    if (token !== undefined) requireSendable('the token', token);
    for (const [name, value] of Object.entries({ ...always, ...headers })) {
      if (!HEADER_NAME.test(name)) throw new TypeError(`"${name}" is not the name of a header`);
      requireSendable(`the header ${name}`, value);
    }
    return {
      // Of use in browsers only, and so unknown to the types of Node.
      ...({ cache: 'no-store' } as object),
      // Followed, a call would arrive elsewhere without the token, or as another call.
      redirect: 'manual',
      method,
      headers: {
        ...always,
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: encoded(body) }),
    };
  }
}

/** What is left of a call's options when those of its own are taken. */
export function callOptions({ signal, timeoutMs, ...others }: CallOptions): CallOptions {
  noOthers(others, 'there are signal, timeoutMs, and those of each call');
  return { signal, timeoutMs };
}

/** A reason in the wrong place or a limit of another name would do nothing otherwise, without a word. */
export function noOthers(others: object, known: string): void {
  const [unknown] = Object.keys(others);
  if (unknown === undefined) return;
  throw new TypeError(`the options have no "${unknown}": ${known}`);
}

/** Runs `work` within the bounds of the call. */
export function limited<T>(
  { signal, timeoutMs }: CallOptions,
  work: (signal: AbortSignal | undefined) => Promise<T>,
): Promise<T> {
  if (timeoutMs === undefined) return signal?.aborted ? Promise.reject(signal.reason) : work(signal);
  return bounded(limitsOf({ signal, timeoutMs }), work);
}

export function limitsOf({ signal, timeoutMs }: CallOptions): Bounds {
  if (timeoutMs === undefined) return { signal };
  const ms = milliseconds('timeoutMs', timeoutMs);
  return { signal, ms, expired: () => new CallTimeoutError(ms) };
}

export function mayRepeat({ isRepeatable, isFinal }: Call, error: unknown): boolean {
  if (isFinal?.(error)) return false;
  if (error instanceof ConnectionError) return isRepeatable || error.isUnsent;
  if (!(error instanceof ClientError) || typeof error.status !== 'number') return false;
  return error.status === TOO_MANY_REQUESTS || (isRepeatable && AWAY.includes(error.status));
}

async function refusal(response: Response): Promise<ClientError> {
  if (isRedirect(response)) return redirected(response);
  const text = await textOf(response);
  const body = parse(text);
  return isErrorBody(body) ? apiError(body, factsOf(response)) : unexpected(response, text);
}

/** A browser says no more of it than that it is one. */
const isRedirect = ({ type, status }: Response): boolean =>
  type === 'opaqueredirect' || [301, 302, 303, 307, 308].includes(status);

async function redirected(response: Response): Promise<UnexpectedAnswerError> {
  await response.body?.cancel();
  const to = response.headers.get('location') ?? 'another address';
  return new UnexpectedAnswerError(
    `${response.url || 'The server'} answered with a redirect to ${to}, which is not followed: call the server at its own address`,
    factsOf(response),
  );
}

function factsOf({ status, headers }: Response) {
  return {
    status,
    requestId: headers.get('x-request-id'),
    retryAfterMs: retryAfterMs(headers.get('retry-after')),
  };
}

/** What to ask for after a page that was asked for with `asked`; undefined at the end. @throws UnexpectedAnswerError */
export function nextAfter(next: string | null | undefined, asked: string | undefined): string | undefined {
  if (next && next === asked)
    throw new UnexpectedAnswerError(
      'A page of the answer leads to itself: something between answers in place of the server',
      { status: 200 },
    );
  return next ?? undefined;
}

const SHOWN_CHARACTERS = 200;

export function unexpected(response: Response, text: string): UnexpectedAnswerError {
  const shown = text.trim().slice(0, SHOWN_CHARACTERS);
  return new UnexpectedAnswerError(
    `${response.url || 'The server'} answered ${response.status} with something that is not of this API: ${shown || 'nothing'}`,
    factsOf(response),
  );
}

function connectionError(base: string, error: unknown): ConnectionError {
  const causes: Partial<NodeJS.ErrnoException>[] = [];
  for (let at = error; at instanceof Error && causes.length < 5; at = at.cause) causes.push(at);
  // One address after the other was tried; each failed in its own way.
  for (const each of (causes.at(-1) as { errors?: Error[] } | undefined)?.errors ?? []) causes.push(each);
  const coded = causes.filter(({ code }) => typeof code === 'string');
  const why = causes.find(({ code }) => code)?.message || causes.at(-1)?.message || String(error);
  return new ConnectionError(
    `No answer from ${base}: ${why}`,
    coded.length > 0 &&
      coded.every(({ code, syscall }) => UNSENT.includes(code!) && WHILE_CONNECTING.includes(syscall)),
    error,
  );
}

/** Said before fetch does, which has the value in its words and cannot be told from a connection that is lost. */
function requireSendable(what: string, value: string): void {
  if (HEADER_TEXT.test(value)) return;
  throw new TypeError(`${what} has characters that cannot be sent, such as a line break`);
}

/** @throws TypeError for what would arrive as something else, such as NaN or a Map */
function encoded(body: unknown): string | undefined {
  try {
    return encodePayload(body, 'body');
  } catch (error) {
    throw error instanceof PayloadError ? new TypeError(error.message) : error;
  }
}

/** Of one answer, far beyond what the server puts into one. A program that writes without end would take all memory. */
const MOST_BYTES = 256 * 1024 * 1024;

export async function textOf(response: Response): Promise<string> {
  const { body } = response;
  if (!body) return response.text();
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for (let { value } = await reader.read(); value; { value } = await reader.read()) {
    text += decoder.decode(value, { stream: true });
    bytes += value.length;
    if (bytes <= MOST_BYTES) continue;
    reader.cancel().catch(() => {});
    throw unexpected(response, text);
  }
  return text + decoder.decode();
}

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** What the body has under these keys, whichever answer it is. */
const HOLDS: Partial<Record<PropertyKey, (value: unknown) => boolean>> = {
  runId: isText,
  events: Array.isArray,
  runs: Array.isArray,
  reasons: Array.isArray,
  workflows: Array.isArray,
  workers: Array.isArray,
};

function fits<T extends object>(body: T, has: keyof T | ((body: T) => boolean)): boolean {
  if (typeof has === 'function') return has(body);
  return Object.hasOwn(body, has) && (HOLDS[has]?.(body[has]) ?? true);
}

const NOT_JSON = Symbol();

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return NOT_JSON;
  }
}

function queryOf(query: Call['query'] = {}): string {
  const parameters = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (value !== undefined) parameters.set(key, value instanceof Date ? value.toISOString() : String(value));
  }
  const text = parameters.toString();
  return text && `?${text}`;
}

/** A part of a path. URLs have no way to write these two, not even encoded. */
export function segment(text: string, what: string): string {
  requireText(text, what);
  if (text === '.' || text === '..') throw new TypeError(`"${text}" cannot be part of an address`);
  return encodeURIComponent(text);
}

export function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

/** What is empty would leave the address of something else. */
export function requireText(text: string, what: string): void {
  if (isText(text)) return;
  throw new TypeError(`${what} is a text, and not ${JSON.stringify(text)}`);
}

function baseOf(baseUrl: string): string {
  const { href } = (globalThis as { location?: { href: string } }).location ?? {};
  let url: URL;
  try {
    url = new URL(baseUrl, href);
  } catch {
    throw new TypeError(
      `baseUrl is ${JSON.stringify(baseUrl)}: give an address such as "http://localhost:3001"`,
    );
  }
  if (!/^https?:$/.test(url.protocol)) throw new TypeError(`baseUrl is ${baseUrl}: it must be http or https`);
  if (url.username || url.password || url.search || url.hash) {
    throw new TypeError(
      'baseUrl is an address alone: no user, no query, no fragment. Give the secret as `token`',
    );
  }
  return withoutTrailingSlashes(url.href);
}

function milliseconds(name: string, value: number): number {
  if (typeof value === 'number' && value >= 0) return value;
  throw new TypeError(`${name} is ${String(value)}: give milliseconds, 0 or more`);
}
