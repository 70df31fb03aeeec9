/**
 * Payloads on Temporal: our JSON texts under the encoding `json/plain`, so that every SDK reads them.
 *
 * 1. A text is passed through as it is, never parsed and written anew: what was written is what is read.
 * 2. What comes out of `fromPayload` is valid JSON, whoever wrote it, since the API passes it on unread.
 *
 * Runs in Node and inside Temporal's workflow sandbox.
 */
import type { temporal } from '@temporalio/proto';
import type { Payload } from '../../core/values/json.js';

export type ProtoPayload = temporal.api.common.v1.IPayload;
export type ProtoPayloads = temporal.api.common.v1.IPayloads;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

const JSON_PLAIN = encoder.encode('json/plain');
const BINARY_NULL = encoder.encode('binary/null');
/** JSON as well: of a message that has a schema elsewhere. */
const JSON_ENCODINGS: ReadonlySet<string> = new Set(['json/plain', 'json/protobuf']);

/** No value at all is written as Temporal's own SDKs write `undefined`. */
export function toPayload(text: Payload | undefined): ProtoPayload {
  return text === undefined
    ? { metadata: { encoding: BINARY_NULL } }
    : { metadata: { encoding: JSON_PLAIN }, data: encoder.encode(text) };
}

export function toPayloads(texts: readonly (Payload | undefined)[]): ProtoPayloads {
  return { payloads: texts.map(toPayload) };
}

export function fromPayload(proto: ProtoPayload | null | undefined): Payload | undefined {
  if (!proto) return undefined;
  const encoding = decoder.decode(proto.metadata?.encoding ?? new Uint8Array());
  if (encoding === 'binary/null') return undefined;
  if (JSON_ENCODINGS.has(encoding)) {
    const text = decoder.decode(proto.data ?? new Uint8Array());
    if (isJson(text)) return text;
  }
  return JSON.stringify({ _raw: true, encoding });
}

/** The arguments of a call. Trailing ones without a value are left out, as the embedded engine has it. */
export function fromPayloads(proto: ProtoPayloads | null | undefined): Payload[] {
  const texts = (proto?.payloads ?? []).map(fromPayload);
  while (texts.length > 0 && texts.at(-1) === undefined) texts.pop();
  return texts.map((text) => text ?? 'null');
}

/** The one value of a result. */
export function fromSingle(proto: ProtoPayloads | null | undefined): Payload | undefined {
  return fromPayload(proto?.payloads?.[0]);
}

/** A value that is small and ours, such as a memo's; undefined for what is not JSON. */
export function decoded(proto: ProtoPayload | null | undefined): unknown {
  const text = fromPayload(proto);
  return text === undefined ? undefined : JSON.parse(text);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
