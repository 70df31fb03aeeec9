/** The id under which a call is found in the logs of both sides. */
import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

const CALLERS_OWN = /^[A-Za-z0-9_-]{1,128}$/;

/** The caller's own id where it is harmless in a log and a header, otherwise a new one. */
export function requestId(headers: IncomingHttpHeaders): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && CALLERS_OWN.test(given) ? given : randomUUID();
}
