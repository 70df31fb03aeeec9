/**
 * The steps that the worker brings along for `sendHttpRequest` and `sendPostRequestAndAwaitWebhook`. They run on the
 * worker's side, never in the workflow sandbox.
 *
 * 1. Only http and https, no credentials in the address; a redirect from https to http is refused.
 * 2. Only addresses that the operator allows, on every connection that is made (outbound/exchange.ts).
 * 3. At most five redirects. Only headers that can hold no secret cross to another origin, and a body never does.
 * 4. An answer beyond the size limit fails rather than being cut.
 */
import { markRetryAfter } from '../core/run/retry.js';
import { FatalError } from './errors.js';
import { filledIn } from './header-templates.js';
import type { HttpRequest, HttpResponse, ResponseOptions } from './http.js';
import { type Answer, exchange, named } from './outbound/exchange.js';
import { type Step, step } from './step.js';
import { stepContext } from './step-context.js';

const MAX_REDIRECTS = 5;
/** A service that takes longer is asked again by the step's retry policy. */
const REQUEST_TIMEOUT_MS = 60_000;
const MAX_BODY_IN_ERROR = 2_000;
/** A service may ask for patience, but not for more than this: what it says is not under the author's control. */
const MAX_RETRY_AFTER_MS = 24 * 3_600_000;
/** Of the connection, not of the request: two ideas of where a request ends are how one is smuggled in another. */
const CONNECTION_HEADERS = [
  'connection',
  'content-length',
  'expect',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
];

/**
 * What an author sends along is for the service it was written for: an API key may stand in a header of any name. So these
 * alone go with a redirect to another origin, since they say what is wanted and not who wants it.
 */
const CROSSING_HEADERS = new Set([
  'accept',
  'accept-encoding',
  'accept-language',
  'content-type',
  'idempotency-key',
  'user-agent',
]);

/** An answer outside 200 to 299. */
export class HttpError extends Error {
  readonly nonRetryable: boolean;
  constructor(
    readonly url: string,
    readonly status: number,
    readonly body: unknown,
    retryAfterMs?: number,
  ) {
    super(`${named(new URL(url))} answered ${status}`);
    this.name = 'HttpError';
    this.nonRetryable = status !== 408 && status !== 429 && status < 500;
    if (retryAfterMs !== undefined) markRetryAfter(this, retryAfterMs);
  }
}

export const sendHttpRequest: Step<HttpRequest, HttpResponse> = step({
  name: 'sendHttpRequest',
  description: 'Makes an HTTP request',
  fn: (request: HttpRequest) => send(request),
});

export const sendPostRequest: Step<HttpRequest, HttpResponse> = step({
  name: 'sendPostRequest',
  description: 'Posts to a service that answers later',
  fn: async (request: HttpRequest) => {
    const answered = await send({ ...request, method: 'POST', responseOptions: { headers: false } });
    return { ...answered, body: null };
  },
});

/** As a workflow sends it: its headers may name environment variables. */
type Sent = HttpRequest & { headerTemplates?: true };

async function send(request: Sent): Promise<HttpResponse> {
  const { signal, idempotencyKey } = stepContext();
  const abort = AbortSignal.any([signal, AbortSignal.timeout(REQUEST_TIMEOUT_MS)]);
  let url = checkUrl(request.url);
  let method = (request.method ?? (request.payload === undefined ? 'GET' : 'POST')).toUpperCase();
  if (method === 'CONNECT')
    throw new FatalError('CONNECT opens a tunnel, which is not a request: use another method');
  let body = encodeBody(request);
  const headers = headersOf(
    request.headerTemplates ? filledIn(request.headers, process.env) : request.headers,
  );
  const forbidden = CONNECTION_HEADERS.find((name) => headers.has(name));
  if (forbidden) throw new FatalError(`the header ${forbidden} is for the connection, not for a request`);
  if (body !== undefined && (method === 'GET' || method === 'HEAD')) {
    throw new FatalError(`a ${method} request cannot have a payload`);
  }
  if (body !== undefined && !headers.has('content-type')) headers.set('content-type', 'application/json');
  if (method !== 'GET' && method !== 'HEAD' && !headers.has('idempotency-key')) {
    headers.set('idempotency-key', idempotencyKey);
  }
  for (let redirects = 0; ; redirects++) {
    const response = await exchange(url, { method, headers, body, signal: abort });
    const location = response.headers.get('location');
    if (response.status < 300 || response.status > 399 || location === null) {
      return answer(url, response, request.responseOptions ?? {});
    }
    response.discard();
    if (redirects === MAX_REDIRECTS)
      throw new FatalError(`${named(checkUrl(request.url))} redirects more than ${MAX_REDIRECTS} times`);
    const target = checkUrl(location, url);
    if (url.protocol === 'https:' && target.protocol === 'http:') {
      throw new FatalError(`${named(url)} redirects from https to http`);
    }
    const keepsMethod = response.status === 307 || response.status === 308;
    if (!keepsMethod && method !== 'GET' && method !== 'HEAD') {
      method = 'GET';
      body = undefined;
      headers.delete('content-type');
    }
    if (target.origin !== url.origin) {
      if (body !== undefined)
        throw new FatalError(`${named(url)} redirects a request with a body to ${target.origin}`);
      for (const name of [...headers.keys()]) if (!CROSSING_HEADERS.has(name)) headers.delete(name);
    }
    url = target;
  }
}

function checkUrl(text: string, base?: URL): URL {
  let url: URL;
  try {
    url = new URL(text, base);
  } catch {
    throw new FatalError(`${JSON.stringify(text)} is not a URL`);
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new FatalError(`${url.protocol} is not supported: use http or https`);
  }
  if (url.username !== '' || url.password !== '') {
    throw new FatalError(`the URL of ${url.host} has a user or password in it: send them in a header`);
  }
  return url;
}

/** What `Headers` says of a value that it refuses has the value in it, which may be a secret of the worker's environment. */
function headersOf(given: Record<string, string> = {}): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(given)) {
    try {
      headers.append(name, value);
    } catch {
      throw new FatalError(
        `the header ${JSON.stringify(name)} cannot be sent: there is a character in its name or its value, such as a line break, that no header can have`,
      );
    }
  }
  return headers;
}

function encodeBody(request: HttpRequest): string | undefined {
  const { payload, headers } = request;
  if (payload === undefined) return undefined;
  const hasType = Object.keys(headers ?? {}).some((name) => name.toLowerCase() === 'content-type');
  return typeof payload === 'string' && hasType ? payload : JSON.stringify(payload);
}

async function answer(url: URL, response: Answer, options: ResponseOptions): Promise<HttpResponse> {
  const text = await response.text();
  const ok = response.status >= 200 && response.status <= 299;
  if (!ok) {
    const how = options.body === false ? false : 'auto';
    const body = readBody(url, response, text.slice(0, MAX_BODY_IN_ERROR), how);
    throw new HttpError(url.href, response.status, body, retryAfter(response));
  }
  return {
    url: url.href,
    status: response.status,
    statusText: response.statusText,
    ok,
    headers: pickHeaders(response.headers, options.headers ?? true),
    body: readBody(url, response, text, options.body ?? 'auto'),
  };
}

/** When a service that is busy wants to be asked again: seconds, or a date of HTTP. What is neither says nothing. */
function retryAfter({ status, headers }: Answer): number | undefined {
  if (status !== 429 && status !== 503) return undefined;
  const text = headers.get('retry-after')?.trim() ?? '';
  const isDate = /^[a-z]{3,9},? /i.test(text);
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : isDate ? Date.parse(text) - Date.now() : Number.NaN;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(0, Math.ceil(ms)), MAX_RETRY_AFTER_MS);
}

function readBody(
  url: URL,
  response: Answer,
  text: string,
  how: NonNullable<ResponseOptions['body']>,
): unknown {
  if (how === false || text === '') return null;
  if (how === 'text') return text;
  const isJson = /[/+]json\b/i.test(response.headers.get('content-type') ?? '');
  if (how === 'auto' && !isJson) return text;
  try {
    return JSON.parse(text);
  } catch {
    if (how === 'auto') return text;
    throw new FatalError(`${named(url)} answers something that is not JSON`);
  }
}

function pickHeaders(headers: Headers, wanted: boolean | string[]): Record<string, string> {
  if (wanted === false) return {};
  const names = wanted === true ? undefined : new Set(wanted.map((name) => name.toLowerCase()));
  const picked: Record<string, string> = {};
  headers.forEach((value, name) => {
    if (names ? names.has(name) : name !== 'set-cookie') picked[name] = value;
  });
  return picked;
}
