/**
 * Who may call. Owns the reading of the Authorization header and the rule for servers without a token.
 *
 * 1. Tokens are compared as SHA-256 digests in constant time, and every candidate is compared with every token, so
 *    the time of a refusal says nothing about how close the guess was. Addresses that guess much are told so.
 * 2. A server without a token serves this machine only: it listens on loopback, and it answers only requests that
 *    were addressed to loopback, so that a web page cannot reach it under a name that points here (DNS rebinding) or
 *    from a foreign origin.
 */
import { isUtf8 } from 'node:buffer';
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { PerdureError } from '../../core/errors.js';
import type { WrongTokens } from './wrong-tokens.js';

export interface Gate {
  /** Says why a request is refused, or undefined when it may pass. */
  (request: IncomingMessage): PerdureError | undefined;
  /** Whether it may; asking counts for nothing. */
  admits(request: IncomingMessage): boolean;
}

/**
 * The gate for `token`: one secret, or two of them separated by a comma while one replaces the other. Without one, web
 * pages of other machines may call only if their origin is listed.
 */
export function createGate(
  token: string | undefined,
  isListedOrigin: (origin: string) => boolean,
  wrongTokens: WrongTokens,
): Gate {
  if (token === undefined) {
    const refuse = (request: IncomingMessage) => {
      const reason = refuseUnlessLocal(request, isListedOrigin);
      return reason === undefined ? undefined : new PerdureError('UnauthorizedError', reason);
    };
    return Object.assign(refuse, { admits: (request: IncomingMessage) => refuse(request) === undefined });
  }
  const accepts = createTokenCheck(token);
  const admits = (request: Judged): boolean => {
    // Of several Authorization headers Node keeps the first; a proxy in front may have judged another one.
    request[IS_ADMITTED] ??=
      accepts(request.headers.authorization) && !hasSeveral(request.rawHeaders, 'authorization');
    return request[IS_ADMITTED];
  };
  const refuse = (request: IncomingMessage) => {
    if (admits(request)) return undefined;
    const { authorization } = request.headers;
    const retryAfterSeconds = authorization === undefined ? undefined : wrongTokens.count(request);
    return retryAfterSeconds === undefined
      ? new PerdureError('UnauthorizedError', REFUSED)
      : new PerdureError('TooManyRequestsError', GUESSED, { retryAfterSeconds });
  };
  return Object.assign(refuse, { admits });
}

/** Judged once, however many ask: it takes digests of the tokens. */
const IS_ADMITTED = Symbol('isAdmitted');
type Judged = IncomingMessage & { [IS_ADMITTED]?: boolean };

const GUESSED = 'Too many calls with a wrong token came from this address: look for a client with an old one';

const REFUSED = 'The call needs valid credentials: send "Authorization: Bearer <token>" or "Basic <token>"';

/** Whether an Authorization header carries one of the tokens. */
export function createTokenCheck(token: string): (authorization: string | undefined) => boolean {
  const digests = splitTokens(token).map(digest);
  return (authorization) => {
    let accepted = false;
    for (const candidate of presented(authorization)) {
      const given = digest(candidate);
      for (const expected of digests) accepted = timingSafeEqual(given, expected) || accepted;
    }
    return accepted;
  };
}

export function splitTokens(token: string): string[] {
  const tokens = token
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
  if (tokens.length === 0) throw new Error('the token is empty: give a secret, or two separated by a comma');
  return tokens;
}

/** What the header may mean: the token itself, or what a browser or `curl -u` makes of a user and a password. */
function presented(authorization: string | undefined): string[] {
  const match = authorization === undefined ? null : /^(basic|bearer) +(\S+)$/i.exec(authorization);
  if (!match) return [];
  const value = match[2]!;
  if (match[1]!.toLowerCase() === 'bearer') return [value];
  const decoded = decodeBase64(value);
  const colon = decoded === undefined ? -1 : decoded.indexOf(':');
  return colon === -1 ? [value] : [value, decoded!.slice(colon + 1)];
}

/** Node reads over whatever is no base64; here only the one right way to write a text counts. */
function decodeBase64(value: string): string | undefined {
  const bytes = Buffer.from(value, 'base64');
  return bytes.toString('base64') === value && isUtf8(bytes) ? bytes.toString('utf8') : undefined;
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

function hasSeveral(rawHeaders: string[], name: string): boolean {
  let found = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const header = rawHeaders[i]!;
    if (header.length === name.length && header.toLowerCase() === name) found++;
  }
  return found > 1;
}

function refuseUnlessLocal(
  request: IncomingMessage,
  isListedOrigin: (origin: string) => boolean,
): string | undefined {
  if (!isLoopbackAuthority(request.headers.host)) {
    return 'This server has no token and so answers only on localhost: set API_AUTH_TOKEN to serve other names';
  }
  const { origin } = request.headers;
  if (origin !== undefined && !isLoopbackOrigin(origin) && !isListedOrigin(origin)) {
    return 'This server has no token and so answers no web page from elsewhere: set API_AUTH_TOKEN';
  }
  return undefined;
}

/** Whether listening on `host` keeps other machines out. */
export function isLoopbackHost(host: string): boolean {
  return /^(?:localhost|127(?:\.\d{1,3}){3}|::1|\[::1\])$/i.test(host);
}

function isLoopbackAuthority(authority: string | undefined): boolean {
  return (
    authority !== undefined && /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i.test(authority)
  );
}

function isLoopbackOrigin(origin: string): boolean {
  const match = /^https?:\/\/([^/]+)$/.exec(origin);
  return match !== null && isLoopbackAuthority(match[1]);
}
