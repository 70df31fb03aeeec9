/**
 * The error that workers of other makers put into the details of a failure, under `error`: what was thrown, with all that
 * the failure itself has no field for. The causes of the failure only repeat it.
 */
import type { temporal } from '@temporalio/proto';
import { type Failure, MAX_CAUSE_DEPTH } from '../../core/history/failure.js';
import { decoded } from './payload.js';

type ProtoFailure = temporal.api.failure.v1.IFailure;
type Embedded = Record<string, unknown>;

export function embeddedError({ applicationFailureInfo: info }: ProtoFailure): Embedded | undefined {
  for (const payload of info?.details?.payloads ?? []) {
    const detail = decoded(payload);
    if (isObject(detail) && isObject(detail.error)) return detail.error;
  }
  return undefined;
}

export function failureOfEmbedded(error: Embedded, proto: ProtoFailure, depth: number): Failure {
  const { applicationFailureInfo: info, message, stackTrace } = proto;
  const activityType = textOf(error.activityType) ?? stepInChain(proto);
  return {
    ...causeOf(error, depth, { type: info?.type || 'Error', message: message ?? '' }),
    ...(stackTrace && { stackTrace }),
    ...(info?.nonRetryable && { nonRetryable: true }),
    ...(activityType !== undefined && { activityType }),
  };
}

function causeOf(error: unknown, depth: number, otherwise = { type: 'Error', message: '' }): Failure {
  if (!isObject(error)) {
    const message = typeof error === 'string' ? error : JSON.stringify(error);
    return { kind: 'application', type: 'Error', message };
  }
  const { name, message, cause, activityType, stack: _, ...properties } = error;
  const step = textOf(activityType);
  return {
    kind: 'application',
    type: textOf(name) ?? otherwise.type,
    message: typeof message === 'string' ? message : otherwise.message,
    ...(step !== undefined && { activityType: step }),
    ...(Object.keys(properties).length > 0 && { properties }),
    ...(cause !== undefined &&
      cause !== null &&
      depth + 1 < MAX_CAUSE_DEPTH && { cause: causeOf(cause, depth + 1) }),
  };
}

/** The step that a workflow's own error came from, if it did. */
function stepInChain(proto: ProtoFailure): string | undefined {
  for (let link: ProtoFailure | null | undefined = proto; link; link = link.cause) {
    const name = link.activityFailureInfo?.activityType?.name;
    if (name) return name;
  }
  return undefined;
}

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
