/**
 * What steps have spent, on its way through a cluster. The outcome of a step carries the costs of all its attempts in the
 * metadata of a payload that is there anyway, so that it costs no event; over retries, and while a step runs, they are in
 * the details of its heartbeats, beside those of its author.
 */
import { type CostRecord, isAmount, isKept } from '../../core/cost/cost.js';
import type { Payload } from '../../core/values/json.js';
import type { Spending } from '../cluster/conventions.js';
import type { ProtoFailure } from './failure.js';
import { decoded, type ProtoPayload, type ProtoPayloads, toPayload } from './payload.js';

const METADATA = 'perdureCosts';
const encoder = new TextEncoder();
const decoder = new TextDecoder();

export function payloadWithCosts(text: Payload | undefined, costs: readonly CostRecord[]): ProtoPayload {
  return withCosts(toPayload(text), costs);
}

export function withCosts(payload: ProtoPayload, costs: readonly CostRecord[]): ProtoPayload {
  if (costs.length === 0) return payload;
  return {
    ...payload,
    metadata: { ...payload.metadata, [METADATA]: encoder.encode(JSON.stringify(costs)) },
  };
}

/** As attributes of an event have it. */
export function costsOfPayloads(payloads: ProtoPayloads | null | undefined): { costs?: CostRecord[] } {
  const bytes = payloads?.payloads?.[0]?.metadata?.[METADATA];
  return bytes ? given(parsed(decoder.decode(bytes))) : {};
}

/** A step that failed says it itself; of one that was lost the last heartbeat does. */
export function costsOfFailure(failure: ProtoFailure | null | undefined): { costs?: CostRecord[] } {
  const said = costsOfPayloads(failure?.applicationFailureInfo?.details);
  if (said.costs) return said;
  const heartbeat = failure?.timeoutFailureInfo?.lastHeartbeatDetails?.payloads?.[0];
  return heartbeat ? given(costsOfHeartbeat(heartbeat)) : {};
}

const given = (costs: CostRecord[]): { costs?: CostRecord[] } => (costs.length > 0 ? { costs } : {});

/**
 * The details of a heartbeat: the author's own, with the costs so far where there are any, and what of them the purse of the
 * run may not have heard.
 */
export function heartbeatDetails(
  details: Payload | undefined,
  costs: readonly CostRecord[],
  untold: readonly Spending[] = [],
): Payload | undefined {
  if (costs.length === 0) return details;
  const own = details === undefined ? '' : `,"details":${details}`;
  const ofPurse = untold.length === 0 ? '' : `,"untold":${JSON.stringify(untold)}`;
  return `{"${METADATA}":${JSON.stringify(costs)}${ofPurse}${own}}`;
}

export const costsOfHeartbeat = (payload: ProtoPayload | null | undefined): CostRecord[] =>
  fromHeartbeat(decoded(payload)).costs;

interface FromHeartbeat {
  details: unknown;
  costs: CostRecord[];
  untold: Spending[];
}

/** What the author gave, and the costs of the attempts so far. */
export function fromHeartbeat(value: unknown): FromHeartbeat {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, METADATA)) {
    return { details: value, costs: [], untold: [] };
  }
  const { [METADATA]: costs, details, untold } = value as Record<string, unknown>;
  return { details, costs: records(costs), untold: Array.isArray(untold) ? untold.filter(isSpending) : [] };
}

function isSpending(value: unknown): value is Spending {
  const { id, costs } = (value ?? {}) as Partial<Spending>;
  return (
    typeof id === 'string' &&
    Array.isArray(costs) &&
    costs.every(({ currency, amount }) => typeof currency === 'string' && isAmount(amount))
  );
}

function parsed(text: string): CostRecord[] {
  try {
    return records(JSON.parse(text));
  } catch {
    return [];
  }
}

/** Others may write there what they like; only what can be summed up is taken. */
function records(value: unknown): CostRecord[] {
  if (!Array.isArray(value)) return [];
  return value.filter((each: Partial<CostRecord> | null): each is CostRecord => {
    const { at, stepName, activityId, attempt, ...cost } = each ?? {};
    const isPlaced = Number.isSafeInteger(at) && Number.isSafeInteger(attempt);
    return isPlaced && typeof stepName === 'string' && typeof activityId === 'string' && isKept(cost);
  });
}
