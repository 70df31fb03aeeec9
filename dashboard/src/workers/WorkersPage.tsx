/** Who runs the code: which workers are connected, what they serve, and how much they have to do. */
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { Workers } from 'perdure/client';
import { catalogsOfRunsQuery, openRunsQuery, workersQuery } from '../app/queries.js';
import { useRunPages } from '../app/run-pages.js';
import { Empty } from '../components/Empty.js';
import { ErrorNote } from '../components/ErrorNote.js';
import { Icon } from '../components/Icon.js';
import { Loading } from '../components/Loading.js';
import { More } from '../components/More.js';
import { Page } from '../components/Page.js';
import { Time } from '../components/Time.js';
import { HowToServe } from './HowToServe.js';
import { deserted, unserved } from './unserved.js';
import './workers.css';

type Worker = Workers['workers'][number];

/** Of the open runs, the newest first: so many at once, and as many again with each click on more. */
const LOOKED_AT = 500;
const AGAIN_MS = 10_000;

export function WorkersPage() {
  const { data, error, refetch } = useQuery(workersQuery);
  const { data: used = [] } = useQuery({ ...catalogsOfRunsQuery, refetchInterval: AGAIN_MS });
  const left = data ? deserted([...data.catalogs, ...used], data.workers) : [];
  return (
    <Page title="Workers">
      {error && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Loading what="the workers" />}
      {data && <Warnings workers={data.workers} left={left} />}
      {data?.workers.length === 0 && (
        <Empty title="No worker is connected">
          <p>Runs that are open stay as they are, and runs that are started wait until one comes.</p>
          <HowToServe />
        </Empty>
      )}
      {data &&
        byCatalog(data.workers).map(([catalog, workers]) => (
          <Catalog key={catalog} {...{ catalog, workers }} />
        ))}
      {left.map((catalog) => (
        <Deserted key={catalog} catalog={catalog} />
      ))}
    </Page>
  );
}

function byCatalog(workers: Worker[]): [string, Worker[]][] {
  const names = [...new Set(workers.map(({ catalog }) => catalog))].sort();
  return names.map((name) => [name, workers.filter(({ catalog }) => catalog === name)]);
}

function Warnings({ workers, left }: { workers: Worker[]; left: string[] }) {
  const pages = useRunPages({ status: 'running' }, { limit: LOOKED_AT, again: AGAIN_MS });
  const { data: open = [] } = useQuery({ ...openRunsQuery(left), refetchInterval: AGAIN_MS });
  if (!pages.runs) return null;
  const isMore = pages.hasMore;
  const isCounted = (name: string) => !isMore || open.some(({ catalog, isAll }) => isAll && catalog === name);
  const runs = [...pages.runs, ...open.flatMap((of) => of.runs)];
  const distinct = new Map(runs.map((run) => [run.runId, run])).values();
  const warnings = unserved([...distinct], workers).map(({ catalog, openRuns, workflows }) => (
    <div key={catalog} className="warning" role="alert">
      <Icon name="heldBack" />
      <div className="stack">
        <p>
          <strong>
            {isCounted(catalog) ? '' : 'At least '}
            {openRuns} open {openRuns === 1 ? 'run' : 'runs'} of the catalog {catalog}{' '}
            {openRuns === 1 ? 'waits' : 'wait'} for a worker.
          </strong>{' '}
          {workflows.length > 0
            ? `No connected one has ${workflows.join(', ')}: start workers with code that has it.`
            : 'None is connected that serves it.'}{' '}
          <Link to="/runs" search={{ state: 'running', catalog }}>
            Show open runs
          </Link>
        </p>
        {workers.length > 0 && workflows.length === 0 && <HowToServe catalog={catalog} />}
      </div>
    </div>
  ));
  return (
    <>
      {warnings}
      {isMore && (
        <div className="stack">
          <p className="muted">
            Whether the workers have the workflows of the open runs was looked at for the newest{' '}
            {pages.runs.length.toLocaleString('en')} of them.
          </p>
          <More of={pages}>Look at older runs</More>
        </div>
      )}
    </>
  );
}

/** A catalog that has no worker any more. */
function Deserted({ catalog }: { catalog: string }) {
  return (
    <section className="stack" aria-label={`Catalog ${catalog}`}>
      <div className="line">
        <h2>{catalog}</h2>
        <span className="muted">Its workers are gone</span>
      </div>
      <p className="muted">
        <Link to="/runs" search={{ catalog }}>
          Its runs
        </Link>
        {' · '}
        <Link to="/catalog" search={{ catalog }}>
          What its workers have served
        </Link>
      </p>
    </section>
  );
}

function Catalog({ catalog, workers }: { catalog: string; workers: Worker[] }) {
  const workflows = [...new Set(workers.flatMap(({ workflows: names }) => names ?? []))].sort();
  return (
    <section className="stack" aria-label={`Catalog ${catalog}`}>
      <div className="line">
        <h2>{catalog}</h2>
        <span className="muted">
          {workers.length} {workers.length === 1 ? 'worker' : 'workers'}
        </span>
      </div>
      <table className="worker-table" aria-label={`Workers of ${catalog}`}>
        <thead>
          <tr className="worker-row worker-head">
            <th scope="col">Worker</th>
            <th scope="col">State</th>
            <th scope="col">Turns</th>
            <th scope="col">Steps</th>
            <th scope="col">Version</th>
            <th scope="col">Connected</th>
            <th scope="col">Last seen</th>
          </tr>
        </thead>
        <tbody>
          {workers.map((worker) => (
            <Row key={worker.id} worker={worker} />
          ))}
        </tbody>
      </table>
      {workflows.length > 0 && (
        <p className="muted serves">
          Serves{' '}
          {workflows.map((name, index) => (
            <span key={name}>
              {index > 0 && ', '}
              <Link to="/catalog" search={{ workflow: name, catalog }}>
                {name}
              </Link>
            </span>
          ))}
        </p>
      )}
    </section>
  );
}

const STATES = {
  working: { word: 'Working', icon: 'completed', tone: 'completed' },
  standingBy: { word: 'Standing by', icon: 'clock', tone: 'cancelled' },
  draining: { word: 'Draining', icon: 'continued_as_new', tone: 'held-back' },
  blocked: { word: 'Blocked by user code', icon: 'heldBack', tone: 'failed' },
} as const;

function Row({ worker }: { worker: Worker }) {
  const { id, host, pid, state, turns, steps, version, connectedAt, lastSeenAt } = worker;
  const shown = state === null ? null : STATES[state];
  return (
    <tr className="worker-row">
      <td className="cut" title={id}>
        <code>{host === null ? id : `${host}${pid === null ? '' : `:${pid}`}`}</code>
      </td>
      <td data-label="State">
        {shown ? (
          <span className={`state worker-${shown.tone}`}>
            <Icon name={shown.icon} />
            {shown.word}
          </span>
        ) : (
          <span className="muted">Not known</span>
        )}
      </td>
      <td data-label="Turns">
        <Slots of={turns} what="turns" />
      </td>
      <td data-label="Steps">
        <Slots of={steps} what="steps" />
      </td>
      <td data-label="Version" className="cut" title={version?.id}>
        {version ? (
          (version.name ?? <code>{version.id.slice(0, 10)}</code>)
        ) : (
          <span className="muted">Not known</span>
        )}
      </td>
      <td data-label="Connected">
        {connectedAt === null ? <span className="muted">Not known</span> : <Time at={connectedAt} />}
      </td>
      <td data-label="Last seen">
        <Time at={lastSeenAt} />
      </td>
    </tr>
  );
}

function Slots({ of, what }: { of: Worker['turns']; what: string }) {
  if (of === null) return <span className="muted">Not known</span>;
  return (
    <span className="slots">
      <meter min={0} max={Math.max(1, of.slots)} value={of.running} aria-label={`Slots for ${what} in use`} />
      {of.running} of {of.slots}
    </span>
  );
}
