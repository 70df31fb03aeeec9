/**
 * The steps that the worker brings along for `sendHttpRequest` and `sendPostRequestAndAwaitWebhook`. They run on the
 * worker's side, never in the workflow sandbox.
 *
 * 1. Only http and https, no credentials in the address; a redirect from https to http is refused.
 * 2. At most five redirects. Credentials in headers do not cross to another origin, and neither does a body.
 * 3. An answer beyond the size limit fails rather than being cut.
 */
import { FatalError } from './errors.js';
import type { HttpRequest, HttpResponse, ResponseOptions } from './http.js';
import { type Step, step } from './step.js';
import { stepContext } from './step-context.js';

const MAX_REDIRECTS = 5;
/** As much as a payload of a history may hold several times over; what is larger belongs into a store, not a history. */
const MAX_RESPONSE_BYTES = 10 * 1024 * 1024;
/** A service that takes longer is asked again by the step's retry policy. */
const REQUEST_TIMEOUT_MS = 60_000;
const MAX_BODY_IN_ERROR = 2_000;

/** An answer outside 200 to 299. */
export class HttpError extends Error {
  readonly nonRetryable: boolean;
  constructor(
    readonly url: string,
    readonly status: number,
    readonly body: unknown,
  ) {
    super(`${url} answered ${status}`);
    this.name = 'HttpError';
    this.nonRetryable = status !== 408 && status !== 429 && status < 500;
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
  fn: (request: HttpRequest) =>
    send({ ...request, method: 'POST', responseOptions: { headers: false, body: false } }),
});

async function send(request: HttpRequest): Promise<HttpResponse> {
  const { signal, idempotencyKey } = stepContext();
  const abort = AbortSignal.any([signal, AbortSignal.timeout(REQUEST_TIMEOUT_MS)]);
  let url = checkUrl(request.url);
  let method = (request.method ?? (request.payload === undefined ? 'GET' : 'POST')).toUpperCase();
  let body = encodeBody(request);
  const headers = new Headers(request.headers);
  if (body !== undefined && !headers.has('content-type')) headers.set('content-type', 'application/json');
  if (method !== 'GET' && method !== 'HEAD' && !headers.has('idempotency-key')) {
    headers.set('idempotency-key', idempotencyKey);
  }
  for (let redirects = 0; ; redirects++) {
    const response = await fetch(url, { method, headers, body, redirect: 'manual', signal: abort });
    const location = response.headers.get('location');
    if (response.status < 300 || response.status > 399 || location === null) {
      return answer(url, response, request.responseOptions ?? {});
    }
    await response.body?.cancel();
    if (redirects === MAX_REDIRECTS)
      throw new FatalError(`${request.url} redirects more than ${MAX_REDIRECTS} times`);
    const target = checkUrl(location, url);
    if (url.protocol === 'https:' && target.protocol === 'http:') {
      throw new FatalError(`${url.href} redirects from https to http`);
    }
    const keepsMethod = response.status === 307 || response.status === 308;
    if (!keepsMethod && method !== 'GET' && method !== 'HEAD') {
      method = 'GET';
      body = undefined;
      headers.delete('content-type');
    }
    if (target.origin !== url.origin) {
      if (body !== undefined)
        throw new FatalError(`${url.href} redirects a request with a body to ${target.origin}`);
      for (const name of ['authorization', 'cookie', 'proxy-authorization']) headers.delete(name);
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

function encodeBody(request: HttpRequest): string | undefined {
  const { payload, headers } = request;
  if (payload === undefined) return undefined;
  const hasType = Object.keys(headers ?? {}).some((name) => name.toLowerCase() === 'content-type');
  return typeof payload === 'string' && hasType ? payload : JSON.stringify(payload);
}

async function answer(url: URL, response: Response, options: ResponseOptions): Promise<HttpResponse> {
  const text = await readText(url, response);
  if (!response.ok) {
    throw new HttpError(
      url.href,
      response.status,
      readBody(response, text.slice(0, MAX_BODY_IN_ERROR), 'auto'),
    );
  }
  return {
    url: url.href,
    status: response.status,
    statusText: response.statusText,
    ok: response.ok,
    headers: pickHeaders(response.headers, options.headers ?? true),
    body: readBody(response, text, options.body ?? 'auto'),
  };
}

async function readText(url: URL, response: Response): Promise<string> {
  if (!response.body) return '';
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength;
    if (bytes > MAX_RESPONSE_BYTES)
      throw new FatalError(`${url.href} answers more than ${MAX_RESPONSE_BYTES} bytes`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

function readBody(response: Response, text: string, how: NonNullable<ResponseOptions['body']>): unknown {
  if (how === false || text === '') return null;
  if (how === 'text') return text;
  const isJson = /[/+]json\b/i.test(response.headers.get('content-type') ?? '');
  if (how === 'auto' && !isJson) return text;
  try {
    return JSON.parse(text);
  } catch {
    if (how === 'auto') return text;
    throw new FatalError(`${response.url} answers something that is not JSON`);
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
