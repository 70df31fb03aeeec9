/** What is asked for about one run. */
import { queryOptions, useQuery } from '@tanstack/react-query';
import { type HistoryEvent, NotFoundError } from 'perdure/client';
import { useEffect, useMemo, useState } from 'react';
import { handleOf } from '../app/handles.js';
import { useStore } from '../app/store.js';
import { RunHistory } from './history.js';
import type { UnderWay } from './model.js';
import { costsOfSteps } from './step-costs.js';
import { stepsUnderWay } from './under-way.js';

export interface Ref {
  workflowId: string;
  runId: string;
}

export const whyQuery = (ref: Ref) =>
  queryOptions({
    queryKey: ['run', ref.workflowId, ref.runId, 'why'],
    queryFn: ({ signal }) => handleOf(ref).why({ signal }),
  });

/** What it has spent, without the single records. */
export const costQuery = (ref: Ref) =>
  queryOptions({
    queryKey: ['run', ref.workflowId, ref.runId, 'cost'],
    queryFn: ({ signal }) => handleOf(ref).cost({ limit: 1, signal }),
  });

/** What steps spend while they run makes no events. */
export const ASK_COSTS_EVERY_MS = 4_000;

/** What each step has spent. Whatever asks anew what the run has spent asks for this too. */
export const stepCostsQuery = (ref: Ref) =>
  queryOptions({
    queryKey: [...costQuery(ref).queryKey, 'steps'],
    queryFn: async ({ signal }): Promise<ReadonlyMap<string, string>> => {
      const { byActivities = [] } = await handleOf(ref).cost({ limit: 1, activities: true, signal });
      return costsOfSteps(byActivities);
    },
  });

/** The panel that says why asks again and again; this only looks at what it has heard. */
export function useStepsUnderWay(ref: Ref): ReadonlyMap<string, UnderWay> {
  const { data } = useQuery({ ...whyQuery(ref), retry: false });
  return useMemo(() => stepsUnderWay(data), [data]);
}

/** One event with what user code gave and threw. It never changes, so it is asked for once. */
export function usePayload(ref: Ref, eventId: string | null) {
  return useQuery({
    queryKey: ['run', ref.workflowId, ref.runId, 'event', eventId],
    enabled: eventId !== null,
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async ({ signal }): Promise<HistoryEvent> => {
      const lastEventId = String(Number(eventId) - 1);
      const events = handleOf(ref).history({ follow: true, includePayloads: true, lastEventId, signal });
      for await (const event of events) return event;
      throw new NotFoundError('NotFoundError', `The run has no event ${eventId} any more`);
    },
  });
}

/**
 * The history for as long as the view is open. That of a run that is not there is not asked for again and again. `length` is how
 * many events it has, as far as is known.
 */
export function useHistory({ workflowId, runId }: Ref, isGone: boolean, length: number) {
  const [history] = useState(() => new RunHistory(workflowId, runId));
  useEffect(() => {
    if (isGone) return;
    history.start();
    return () => history.stop();
  }, [history, isGone]);
  useEffect(() => history.expect(length), [history, length]);
  return useStore(history.shown);
}
