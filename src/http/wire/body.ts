/**
 * Reads JSON bodies and refuses what later parts could choke on.
 *
 * 1. A body that passes is valid UTF-8, nested at most `bodyDepth` levels, has at most `bodyValues` members and
 *    elements, no key that could reach a prototype, and no number beyond what JSON can give back.
 * 2. The shape is checked on the text, before anything is built from it.
 */
import { isUtf8 } from 'node:buffer';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { HttpLimits } from '../../core/bounds/limits.js';
import { PerdureError } from '../../core/errors.js';
import type { Bodies } from '../door/bodies.js';

/** `bodies` say when each may be read. */
export function readJsonBodies(
  app: FastifyInstance,
  limits: HttpLimits,
  bodies: Pick<Bodies, 'inTurn'>,
): void {
  const parseJson = safeParser(app);
  app.removeAllContentTypeParsers();
  app.addHook('onRequest', ({ headers, raw }, _reply, done) => {
    // Without a body there is nothing whose type could be wrong; `curl -X POST -d ''` names one all the same.
    const { 'content-length': length = '0', 'transfer-encoding': encoding } = headers;
    if (length === '0' && encoding === undefined) delete raw.headers['content-type'];
    done();
  });
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, raw, done) => {
    const body = raw as Buffer;
    if (body.length === 0) return done(null, undefined);
    bodies.inTurn(request.raw.socket, body.length, () => {
      let value: unknown;
      try {
        value = read(request, body);
      } catch (error) {
        return done(error as Error);
      }
      done(null, value);
    });
  });

  function read(request: FastifyRequest, body: Buffer): unknown {
    refuseEncodings(request);
    if (!isUtf8(body)) throw new PerdureError('InvalidJsonError', 'The body is not valid UTF-8');
    const text = body.toString('utf8');
    checkShape(text, limits);
    const value = parseJson(request, text);
    if (MAY_OVERFLOW.test(text)) checkNumbers(value, []);
    return value;
  }
}

/** Fastify's own parser, which refuses keys that reach a prototype, as a function that returns or throws. */
function safeParser(app: FastifyInstance): (request: FastifyRequest, text: string) => unknown {
  const parser = app.getDefaultJsonParser('error', 'error');
  return (request, text) => {
    let failed = false;
    let value: unknown;
    void parser(request, text, (error, parsed) => {
      failed = error !== null;
      value = parsed;
    });
    if (failed) throw new PerdureError('InvalidJsonError', whyInvalid(text));
    return value;
  };
}

/** The parser says the same of both; the caller looks for a comma in one case and for a key in the other. */
function whyInvalid(text: string): string {
  try {
    JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch (error) {
    const position = /at position (\d+)/.exec((error as Error).message)?.[1];
    return `The body is not valid JSON${position === undefined ? '' : ` (at character ${Number(position) + 1})`}`;
  }
  return 'The body has a key that JavaScript objects cannot carry safely: __proto__, or a constructor with a prototype';
}

function refuseEncodings(request: FastifyRequest): void {
  const encoding = request.headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity') {
    throw new PerdureError('UnsupportedMediaTypeError', 'Send the body without Content-Encoding');
  }
  const charset = /charset\s*=\s*"?([^\s";]+)/i.exec(request.headers['content-type'] ?? '')?.[1];
  if (charset !== undefined && !/^(utf-?8|us-ascii)$/i.test(charset)) {
    throw new PerdureError('UnsupportedMediaTypeError', 'JSON bodies are UTF-8');
  }
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Whether the text is well-formed is not asked here; the parser that follows says so. */
export function checkShape(text: string, limits: Pick<HttpLimits, 'bodyDepth' | 'bodyValues'>): void {
  // A text of n characters has fewer than n levels and n values.
  if (text.length <= limits.bodyDepth) return;
  let depth = 0;
  let values = 0;
  for (let i = 0; i < text.length; i++) {
    switch (text.charCodeAt(i)) {
      case QUOTE:
        i = endOfString(text, i);
        break;
      case OPEN_BRACE:
      case OPEN_BRACKET:
        values++;
        if (++depth > limits.bodyDepth)
          throw refused(`nested deeper than ${limits.bodyDepth} levels`, 'too_deep');
        break;
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        depth--;
        break;
      case COMMA:
        values++;
        break;
    }
    if (values > limits.bodyValues) throw refused(`more than ${limits.bodyValues} values`, 'too_many_values');
  }
}

/** Index of the quote that ends the string which starts at `start`, or the end of the text. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(end - 1 - backslashes) === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return end;
  }
  return text.length;
}

/** Only an exponent or some three hundred digits can go beyond a double; false alarms cost a walk. */
const MAY_OVERFLOW = /\d[eE]|\d{300}/;

/** 1e400 would be read as Infinity and written as null: a value changed without a word. */
function checkNumbers(value: unknown, path: (string | number)[]): void {
  if (typeof value === 'number') {
    if (!Number.isFinite(value))
      throw refused('a number too large for JSON clients to carry', 'too_big', [...path]);
  } else if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      path.push(i);
      checkNumbers(value[i], path);
      path.pop();
    }
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, member] of Object.entries(value)) {
      path.push(key);
      checkNumbers(member, path);
      path.pop();
    }
  }
}

function refused(message: string, code: string, path: (string | number)[] = []): PerdureError {
  return new PerdureError('ValidationError', 'Invalid Payload', { issues: [{ path, message, code }] });
}
