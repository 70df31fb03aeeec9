/** Tells callers, in headers, that what they use goes away and what replaces it. */
import type { FastifyReply } from 'fastify';

const DEPRECATED_SINCE = new Date('2026-01-16T00:00:00Z');
const SUNSET = 'Thu, 16 Jul 2026 00:00:00 GMT';

/** `successor` is the path that replaces a deprecated route. */
export function markDeprecated(reply: FastifyReply, successor?: string): void {
  // A date in the syntax of structured fields, as the Deprecation header is defined.
  reply.header('deprecation', `@${DEPRECATED_SINCE.getTime() / 1000}`).header('sunset', SUNSET);
  if (successor !== undefined) reply.header('link', `<${successor}>; rel="successor-version"`);
}
