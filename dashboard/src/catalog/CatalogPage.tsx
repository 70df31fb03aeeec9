/** What can be run: workflows with their schemas, steps and handlers, and how many runs of each there are. */
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import type { CatalogEntry } from 'perdure/client';
import { useId } from 'react';
import { catalogQuery, workersQuery } from '../app/queries.js';
import { Empty } from '../components/Empty.js';
import { ErrorNote } from '../components/ErrorNote.js';
import { Icon } from '../components/Icon.js';
import { Loading } from '../components/Loading.js';
import { legible } from '../components/legible.js';
import { Page } from '../components/Page.js';
import { useCatalogNames } from '../start/catalogs.js';
import { HowToServe } from '../workers/HowToServe.js';
import './catalog.css';
import { RunCounts } from './RunCounts.js';
import { SchemaTree } from './SchemaTree.js';

export function CatalogPage() {
  const { catalog, workflow } = useSearch({ from: '/catalog' });
  const { data, error, refetch } = useQuery({ ...catalogQuery(catalog), refetchInterval: 10_000 });
  const entry = data?.workflows.find(({ name }) => name === workflow) ?? data?.workflows[0];
  return (
    <Page title="Catalog" tools={<Catalogs catalog={catalog} shown={data?.catalog} />}>
      {error && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Loading what="the catalog" />}
      {data?.workflows.length === 0 && (
        <Empty title="No worker has registered a workflow yet">
          <HowToServe />
        </Empty>
      )}
      {data && entry && workflow !== undefined && entry.name !== workflow && (
        <p className="muted" role="status">
          The catalog {data.catalog} has no workflow “{legible(workflow)}”. These are there:
        </p>
      )}
      {data && entry && <Deserted catalog={data.catalog} />}
      {data && entry && (
        <div className="catalog">
          <nav aria-label="Workflows" className="catalog-list">
            {data.workflows.map(({ name }) => (
              <Link
                key={name}
                to="/catalog"
                search={{ workflow: name, catalog }}
                aria-current={name === entry.name ? 'true' : undefined}
              >
                {name}
              </Link>
            ))}
          </nav>
          <Workflow key={entry.name} entry={entry} catalog={catalog} />
        </div>
      )}
    </Page>
  );
}

/** Its workflows stay known while its workers are away. */
function Deserted({ catalog }: { catalog: string }) {
  const { data } = useQuery(workersQuery);
  if (!data || data.workers.some((worker) => worker.catalog === catalog)) return null;
  return (
    <div className="deserted stack" role="status">
      <p>
        <strong>No worker of the catalog {catalog} is connected.</strong> These are the workflows that were
        registered last; runs of them can be started, and wait until a worker comes.
      </p>
      <HowToServe catalog={catalog} />
    </div>
  );
}

function Catalogs({ catalog, shown }: { catalog: string | undefined; shown: string | undefined }) {
  const names = useCatalogNames(catalog);
  const navigate = useNavigate();
  const id = useId();
  if (names.length < 2) return null;
  return (
    <div className="line">
      <label htmlFor={id} className="unseen">
        Which catalog
      </label>
      <select
        id={id}
        className="select"
        value={shown}
        onChange={({ target }) => void navigate({ to: '/catalog', search: { catalog: target.value } })}
      >
        {names.map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
    </div>
  );
}

function Workflow({ entry, catalog }: { entry: CatalogEntry; catalog: string | undefined }) {
  const { name, description, path, aliases, version } = entry;
  return (
    <article className="stack workflow" aria-label={name}>
      <div className="line workflow-head">
        <h2>{name}</h2>
        <Link className="button button-primary" to="/start" search={{ workflow: name, catalog }}>
          <Icon name="play" />
          <span>Start…</span>
        </Link>
      </div>
      {description && <p>{description}</p>}
      <p className="muted small">
        <code>{path}</code>
        {aliases.length > 0 && <> · also called {aliases.join(', ')}</>}
        {version && (
          <>
            {' '}
            · version <code title={version.id}>{version.name ?? version.id.slice(0, 10)}</code>
          </>
        )}
      </p>
      <RunCounts workflow={name} catalog={catalog} />
      <div className="schemas">
        <SchemaTree schema={entry.inputSchema} label="Input" />
        <SchemaTree schema={entry.outputSchema} label="Output" />
      </div>
      <Parts title="Steps" none="It has no steps of its own." parts={entry.steps} />
      <Parts title="Signals" none="It declares no signals." parts={entry.signals} />
      <Parts title="Queries" none="It declares no queries." parts={entry.queries} />
      <Parts title="Updates" none="It declares no updates." parts={entry.updates} />
    </article>
  );
}

type Part = CatalogEntry['steps'][number] | CatalogEntry['signals'][number];

function Parts({ title, none, parts }: { title: string; none: string; parts: readonly Part[] }) {
  return (
    <section className="parts" aria-label={title}>
      <h3>{title}</h3>
      {parts.length === 0 && <p className="muted">{none}</p>}
      {parts.map(({ name, description, inputSchema, outputSchema }) => (
        <details key={name} className="part">
          <summary>
            <code>{name}</code> <span className="muted">{description}</span>
          </summary>
          <div className="schemas">
            <SchemaTree schema={inputSchema} label={`Input of ${name}`} />
            <SchemaTree schema={outputSchema} label={`Output of ${name}`} />
          </div>
        </details>
      ))}
    </section>
  );
}
