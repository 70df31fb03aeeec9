/** A message of Temporal's protocol as plain JSON: for what is passed on without being understood. */
import { fromPayload, type ProtoPayload } from './payload.js';

/** Undefined for an empty one. */
export function asRecorded(message: unknown): Record<string, unknown> | undefined {
  const plain = plainOf(message);
  return typeof plain === 'object' && plain !== null && !Array.isArray(plain) && Object.keys(plain).length > 0
    ? (plain as Record<string, unknown>)
    : undefined;
}

function plainOf(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Uint8Array) return new TextDecoder().decode(value);
  if (Array.isArray(value)) return value.map(plainOf);
  if (isLong(value)) return value.toString();
  if (isPayload(value)) {
    const text = fromPayload(value);
    return text === undefined ? null : JSON.parse(text);
  }
  const plain: Record<string, unknown> = {};
  for (const [key, member] of Object.entries(value)) {
    if (member !== null && member !== undefined) plain[key] = plainOf(member);
  }
  return plain;
}

function isLong(value: object): value is { toString(): string } {
  return 'low' in value && 'high' in value && 'unsigned' in value;
}

function isPayload(value: object): value is ProtoPayload {
  const { metadata } = value as ProtoPayload;
  return typeof metadata === 'object' && metadata !== null && metadata.encoding instanceof Uint8Array;
}
