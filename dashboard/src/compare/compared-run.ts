/** One of the two runs: what it is, what it was given, how it ended and what it did. */
import { queryOptions, useQuery } from '@tanstack/react-query';
import type { HistoryEvent, StatusRecord } from 'perdure/client';
import { client } from '../app/api.js';
import { inputQuery, outcomeQuery, statusQuery } from '../app/queries.js';
import type { ComparedStep } from './align.js';
import { stepsOf } from './steps-of.js';

export interface RunRef {
  workflowId: string;
  runId: string;
}

/** With all payloads in memory; a run that is longer is compared up to here, and the page says so. */
export const MAX_EVENTS = 20_000;
/** A run that is open is read again this often, unless that is much. */
const AGAIN_MS = 5_000;
const AGAIN_UP_TO_EVENTS = 2_000;

const stepsQuery = ({ workflowId, runId }: RunRef) =>
  queryOptions({
    queryKey: ['run', workflowId, runId, 'compared'],
    queryFn: async ({ signal }) => {
      const events: HistoryEvent[] = [];
      for await (const event of client.handle(workflowId, runId).history({ includePayloads: true, signal })) {
        if (events.length === MAX_EVENTS) return { steps: stepsOf(events), isCut: true };
        events.push(event);
      }
      return { steps: stepsOf(events), isCut: false };
    },
  });

export interface ComparedRun {
  ref: RunRef;
  status: StatusRecord;
  input: unknown;
  /** Undefined while there is none. */
  output: unknown;
  error: unknown;
  steps: ComparedStep[] | undefined;
  isCut: boolean;
}

export function useComparedRun(ref: RunRef): { run: ComparedRun | undefined; error: unknown } {
  const { workflowId, runId } = ref;
  const status = useQuery({
    ...statusQuery(workflowId, runId),
    refetchInterval: ({ state }) => (state.data?.status === 'running' ? AGAIN_MS : false),
  });
  const isOpen = status.data?.status === 'running';
  const input = useQuery(inputQuery(workflowId, runId));
  const outcome = useQuery({
    ...outcomeQuery(workflowId, runId),
    enabled: status.data !== undefined && !isOpen,
  });
  const isShort = (status.data?.historyLength ?? 0) <= AGAIN_UP_TO_EVENTS;
  const steps = useQuery({ ...stepsQuery(ref), refetchInterval: isOpen && isShort ? AGAIN_MS : false });
  const error = status.error ?? input.error ?? outcome.error ?? steps.error;
  if (!status.data || !input.data || (!isOpen && !outcome.data)) return { run: undefined, error };
  const run = {
    ref,
    status: status.data,
    input: input.data.input,
    output: outcome.data?.output,
    error: outcome.data?.error ?? undefined,
    steps: steps.data?.steps,
    isCut: steps.data?.isCut ?? false,
  };
  return { run, error };
}
