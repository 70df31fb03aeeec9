/**
 * Which request of ours made something, in the header of the event that it made: Temporal itself knows the requests of
 * a run only until that closes, and tells nobody.
 */
import type { temporal } from '@temporalio/proto';
import type { TraceContext } from '../../core/trace-context.js';
import { decoded, toPayload } from '../translate/payload.js';
import { tracerHeader } from '../translate/tracer-header.js';

type Header = temporal.api.common.v1.IHeader;

const REQUEST_HEADER = 'perdure-request';

export function requestHeader(requestId: string, traceContext?: TraceContext): Header {
  return {
    fields: { [REQUEST_HEADER]: toPayload(JSON.stringify(requestId)), ...tracerHeader(traceContext) },
  };
}

export function requestOf(header: Header | null | undefined): unknown {
  return decoded(header?.fields?.[REQUEST_HEADER]);
}
