/** A failure as callers see it, in results and traces alike. Stacks never leave the service. */
import { type Failure, MAX_CAUSE_DEPTH } from './failure.js';

export type SerializedError = Record<string, unknown> & { name: string; message: string };

/** Names that the form itself defines; a property of the user's error must not pose as one of them. */
const RESERVED = new Set(['name', 'message', 'activityType', 'cause', 'stack', 'stackTrace', '__proto__']);

export function serializeError(failure: Failure, depth = 0): SerializedError {
  const error: SerializedError = { name: failure.type, message: failure.message };
  if (failure.activityType !== undefined) error.activityType = failure.activityType;
  for (const [key, value] of Object.entries(failure.properties ?? {})) {
    if (!RESERVED.has(key)) error[key] = value;
  }
  if (failure.cause && depth < MAX_CAUSE_DEPTH) error.cause = serializeError(failure.cause, depth + 1);
  return error;
}
