/** An address with a workflow's id alone leads to its latest run. */
import { useQuery } from '@tanstack/react-query';
import { Navigate, useParams, useSearch } from '@tanstack/react-router';
import { statusQuery } from '../app/queries.js';
import { ErrorNote } from '../components/ErrorNote.js';
import { Loading } from '../components/Loading.js';
import { Page } from '../components/Page.js';
import { Gone, leadsNowhere } from './Gone.js';

export function LatestRun() {
  const { workflowId } = useParams({ from: '/runs/$workflowId' });
  const search = useSearch({ from: '/runs/$workflowId' });
  const { data, error, refetch } = useQuery(statusQuery(workflowId));
  if (data) {
    return (
      <Navigate
        to="/runs/$workflowId/$runId"
        params={{ workflowId, runId: data.runId }}
        search={search}
        replace
      />
    );
  }
  if (leadsNowhere(error)) return <Gone workflowId={workflowId} />;
  return (
    <Page title={workflowId}>
      {error ? <ErrorNote error={error} onRetry={() => void refetch()} /> : <Loading what="the run" />}
    </Page>
  );
}
