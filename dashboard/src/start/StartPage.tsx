/** Which workflow to start, and its form. Both stand in the address. */
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import type { CatalogEntry } from 'perdure/client';
import { useId } from 'react';
import { catalogQuery, inputQuery, statusQuery } from '../app/queries.js';
import { Empty } from '../components/Empty.js';
import { ErrorNote } from '../components/ErrorNote.js';
import { Loading } from '../components/Loading.js';
import { shorten } from '../components/legible.js';
import { Page } from '../components/Page.js';
import { HowToServe } from '../workers/HowToServe.js';
import { useCatalogNames } from './catalogs.js';
import { StartForm } from './StartForm.js';

export function StartPage() {
  const search = useSearch({ from: '/start' });
  const { likeWorkflowId, likeRunId } = search;
  return likeWorkflowId !== undefined && likeRunId !== undefined ? (
    <StartAgain workflowId={likeWorkflowId} runId={likeRunId} />
  ) : (
    <Page title="Start a workflow">
      <Choose catalog={search.catalog} workflow={search.workflow} />
    </Page>
  );
}

/** With the input of a run, as it is or edited. */
function StartAgain({ workflowId, runId }: { workflowId: string; runId: string }) {
  const status = useQuery(statusQuery(workflowId, runId));
  const input = useQuery(inputQuery(workflowId, runId));
  const error = status.error ?? input.error;
  return (
    <Page title="Start again">
      {error && (
        <ErrorNote error={error} onRetry={() => void Promise.all([status.refetch(), input.refetch()])} />
      )}
      {!error && !(status.data && input.data) && <Loading what="its input" />}
      {status.data && input.data && (
        <>
          <p className="muted">
            With the input of{' '}
            <Link to="/runs/$workflowId/$runId" params={{ workflowId, runId }} title={workflowId}>
              {shorten(workflowId, 40)}
            </Link>
            . It will be a run of its own; that one stays as it is.
          </p>
          <Choose
            catalog={status.data.catalog}
            workflow={status.data.workflowType}
            given={{ input: input.data.input }}
          />
        </>
      )}
    </Page>
  );
}

function Choose({
  catalog,
  workflow,
  given,
}: {
  catalog: string | undefined;
  workflow: string | undefined;
  given?: { input: unknown };
}) {
  const { data, error, refetch } = useQuery(catalogQuery(catalog));
  if (error) return <ErrorNote error={error} onRetry={() => void refetch()} />;
  if (!data) return <Loading what="the workflows" />;
  const { workflows } = data;
  if (workflows.length === 0) {
    return (
      <Empty title="No worker has registered a workflow yet">
        <HowToServe />
      </Empty>
    );
  }
  const entry = workflows.find(({ name, aliases }) => name === workflow || aliases.includes(workflow ?? ''));
  if (!entry) {
    return (
      <>
        {workflow !== undefined && (
          <p role="alert">
            The catalog {data.catalog} has no workflow “{workflow}”. These are there:
          </p>
        )}
        <CatalogSelect catalog={catalog} />
        <WorkflowList workflows={workflows} catalog={catalog} />
      </>
    );
  }
  return (
    <>
      <div className="line">
        <WorkflowSelect
          workflows={workflows}
          chosen={entry.name}
          catalog={catalog}
          isFixed={given !== undefined}
        />
        <CatalogSelect catalog={catalog} />
      </div>
      {entry.description && <p className="muted">{entry.description}</p>}
      <StartForm key={`${data.catalog}/${entry.name}`} entry={entry} catalog={catalog} given={given} />
    </>
  );
}

function WorkflowList({ workflows, catalog }: { workflows: CatalogEntry[]; catalog: string | undefined }) {
  return (
    <ul className="workflow-list">
      {workflows.map(({ name, description }) => (
        <li key={name}>
          <Link to="/start" search={{ workflow: name, catalog }}>
            <strong>{name}</strong>
            <span className="muted">{description}</span>
          </Link>
        </li>
      ))}
    </ul>
  );
}

function WorkflowSelect({
  workflows,
  chosen,
  catalog,
  isFixed,
}: {
  workflows: CatalogEntry[];
  chosen: string;
  catalog: string | undefined;
  isFixed: boolean;
}) {
  const navigate = useNavigate();
  const id = useId();
  if (isFixed) return <h2>{chosen}</h2>;
  return (
    <>
      <label htmlFor={id}>Workflow</label>
      <select
        id={id}
        className="select"
        value={chosen}
        onChange={({ target }) =>
          void navigate({ to: '/start', search: { workflow: target.value, catalog } })
        }
      >
        {workflows.map(({ name }) => (
          <option key={name}>{name}</option>
        ))}
      </select>
    </>
  );
}

function CatalogSelect({ catalog }: { catalog: string | undefined }) {
  const { data } = useQuery(catalogQuery());
  const names = useCatalogNames(catalog);
  const navigate = useNavigate();
  const id = useId();
  if (names.length < 2) return null;
  return (
    <div className="line">
      <label htmlFor={id}>Catalog</label>
      <select
        id={id}
        className="select"
        value={catalog ?? data?.catalog}
        onChange={({ target }) => void navigate({ to: '/start', search: { catalog: target.value } })}
      >
        {names.map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
    </div>
  );
}
