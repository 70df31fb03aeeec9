/** One run: what it is, why it is there, what happened, and what to do. Opening it never waits for its history. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import { statusQuery } from '../app/queries.js';
import { ErrorNote } from '../components/ErrorNote.js';
import { Loading } from '../components/Loading.js';
import { useTitle } from '../components/Page.js';
import { CostPanel } from './CostPanel.js';
import { Detail } from './Detail.js';
import { EventsView } from './EventsView.js';
import { Gone, leadsNowhere } from './Gone.js';
import { Header } from './Header.js';
import { InputAndOutput } from './InputAndOutput.js';
import { type Ref, useHistory } from './queries.js';
import { RelatedView } from './RelatedView.js';
import './run.css';
import { StepsView } from './StepsView.js';
import { type RunSearch, TABS, type Tab } from './search.js';
import { Tabs } from './Tabs.js';
import { Timeline } from './timeline/Timeline.js';
import { WhyPanel } from './WhyPanel.js';

/** States that no event tells of, such as being held back. */
const ASK_EVERY_MS = 4_000;

export function RunPage() {
  const { workflowId, runId } = useParams({ from: '/runs/$workflowId/$runId' });
  const search = useSearch({ from: '/runs/$workflowId/$runId' });
  return <Run key={`${workflowId}/${runId}`} workflowId={workflowId} runId={runId} search={search} />;
}

function Run({ search, ...ref }: Ref & { search: RunSearch }) {
  const { workflowId, runId } = ref;
  useTitle(workflowId);
  const navigate = useNavigate({ from: '/runs/$workflowId/$runId' });
  const status = useQuery({
    ...statusQuery(workflowId, runId),
    refetchInterval: ({ state }) => (state.data?.status === 'running' ? ASK_EVERY_MS : false),
  });
  const isGone = leadsNowhere(status.error);
  const history = useHistory(ref, isGone, status.data?.historyLength ?? 0);

  useAskedAgain(ref, 'status', history.version);
  useAskedAgain(ref, 'why', history.version);
  useAskedAgain(ref, 'cost', history.version);

  const { tab = 'timeline', open } = search;
  const show = (change: RunSearch, replace = false) =>
    void navigate({ search: (before) => ({ ...before, ...change }), replace, resetScroll: false });
  const toggle = (id: string) => show({ open: open === id ? undefined : id });

  if (isGone) return <Gone workflowId={workflowId} />;
  if (status.data === undefined) {
    return status.error ? (
      <div className="page">
        <ErrorNote error={status.error} onRetry={() => void status.refetch()} />
      </div>
    ) : (
      <div className="page">
        <Loading what="the run" />
      </div>
    );
  }
  const run = status.data;
  const views: Record<Tab, () => React.ReactNode> = {
    timeline: () => <Timeline run={run} history={history} open={open} onOpen={toggle} />,
    steps: () => <StepsView run={run} history={history} open={open} onOpen={toggle} />,
    events: () => <EventsView history={history} open={open} onOpen={toggle} />,
    data: () => <InputAndOutput run={run} />,
    related: () => <RelatedView run={run} history={history} />,
  };
  const hasDetail = open !== undefined && ['timeline', 'steps', 'events'].includes(tab);
  return (
    <div className="run">
      <Header run={run} />
      <WhyPanel run={run} />
      <CostPanel run={run} />
      <Tabs
        chosen={tab}
        onChoose={(next) => show({ tab: next === TABS[0] ? undefined : next, open: undefined })}
        counts={{ events: Math.max(run.historyLength, history.version) }}
      />
      <div className={`run-body ${hasDetail ? 'has-detail' : ''}`}>
        <div className="run-view" role="tabpanel" id="run-view" aria-labelledby={`tab-${tab}`}>
          {history.error !== undefined && <ErrorNote error={history.error} />}
          {views[tab]()}
        </div>
        {hasDetail && (
          <Detail
            key={open}
            run={run}
            history={history}
            id={open}
            isEvent={tab === 'events'}
            onClose={() => show({ open: undefined })}
          />
        )}
      </div>
    </div>
  );
}

/** At most this often: a long history comes in many parts, and a run can have hundreds of events in a second. */
const ASK_AT_MOST_EVERY_MS = 500;

/**
 * What else is known of the run may be another thing with every event. It is asked for again when it has been answered:
 * to ask anew would give up the question that is under way, and where events come faster than answers all of them.
 */
function useAskedAgain({ workflowId, runId }: Ref, what: string, version: number): void {
  const queries = useQueryClient();
  const asked = useRef({ version: 0, at: 0, answer: Promise.resolve() });
  useEffect(() => {
    if (version === asked.current.version) return;
    let isOver = false;
    const wait = Math.max(0, asked.current.at + ASK_AT_MOST_EVERY_MS - performance.now());
    const timer = setTimeout(async () => {
      await asked.current.answer;
      if (isOver) return;
      const answer = queries.invalidateQueries({ queryKey: ['run', workflowId, runId, what] });
      asked.current = { version, at: performance.now(), answer };
    }, wait);
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [version, queries, workflowId, runId, what]);
}
