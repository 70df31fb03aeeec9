/** Runs that this one has to do with: its parent, its children, and the others of its id. */
import { Link } from '@tanstack/react-router';
import type { StatusRecord } from 'perdure/client';
import { useRunPages } from '../app/run-pages.js';
import { CopyId } from '../components/CopyId.js';
import { ErrorNote } from '../components/ErrorNote.js';
import { Icon } from '../components/Icon.js';
import { Loading } from '../components/Loading.js';
import { shorten } from '../components/legible.js';
import { More } from '../components/More.js';
import { StateBadge } from '../components/StateBadge.js';
import { stateOf } from '../components/state.js';
import { Time } from '../components/Time.js';
import type { Shown } from './history.js';
import { ITEM_STATES, type Item, STATE_ICONS, stateClass } from './items.js';

const SHOWN_RUNS = 100;
const SHOWN_CHILDREN = 200;
/** How often the runs of the same id are asked for again. */
const AGAIN_MS = 10_000;

export function RelatedView({ run, history }: { run: StatusRecord; history: Shown }) {
  const { model, version, expected } = history;
  const { parent, continuedFrom, initiator, resetFrom, newRunId } = model.lineage;
  const { workflowId } = run;
  const children = model.items.filter(({ kind }) => kind === 'child');
  const before = continuedFrom && continuedFrom !== resetFrom ? continuedFrom : undefined;
  return (
    <div className="related">
      <section className="stack">
        <h2>Where it comes from</h2>
        <ul className="relations">
          {parent && <Relation name="Child of" workflowId={parent.workflowId} runId={parent.runId} />}
          {before && (
            <Relation
              name={initiator === 'RETRY' ? 'Next attempt after' : 'Continued from'}
              workflowId={workflowId}
              runId={before}
            />
          )}
          {resetFrom && <Relation name="Reset from" workflowId={workflowId} runId={resetFrom} />}
          {version === 0 && (
            <li>
              <Loading what="the history" />
            </li>
          )}
          {version > 0 && !parent && !before && !resetFrom && (
            <li className="muted">It was started from outside.</li>
          )}
        </ul>
        {newRunId && (
          <>
            <h2>What has taken over</h2>
            <ul className="relations">
              <Relation
                name={run.status === 'terminated' ? 'Reset to' : 'Continued in'}
                workflowId={workflowId}
                runId={newRunId}
              />
            </ul>
          </>
        )}
      </section>
      <section className="stack">
        <h2>Children</h2>
        <ul className="relations">
          {children.length === 0 && version > 0 && version >= expected && <li className="muted">None.</li>}
          {children.slice(0, SHOWN_CHILDREN).map((item) => (
            <Child key={item.id} item={item} />
          ))}
          {children.length > SHOWN_CHILDREN && (
            <li className="muted">and {children.length - SHOWN_CHILDREN} more, which the steps show</li>
          )}
        </ul>
      </section>
      <OfTheSameId run={run} />
    </div>
  );
}

function Relation({ name, workflowId, runId }: { name: string; workflowId: string; runId: string }) {
  return (
    <li>
      <span className="relation-name">{name}</span>
      <Link to="/runs/$workflowId/$runId" params={{ workflowId, runId }} className="mono">
        {shorten(workflowId, 32)}
      </Link>
      <CopyId id={runId} length={17} label="Copy the run's id" />
    </li>
  );
}

function Child({ item: { execution, workflowType, state } }: { item: Item }) {
  const { workflowId, runId } = execution!;
  return (
    <li>
      <span className={`state ${stateClass(state)}`}>
        <Icon name={STATE_ICONS[state]} />
        {ITEM_STATES[state]}
      </span>
      <span>{workflowType}</span>
      {runId ? (
        <Link to="/runs/$workflowId/$runId" params={{ workflowId, runId }} className="mono">
          {shorten(workflowId, 32)}
        </Link>
      ) : (
        <code>{shorten(workflowId, 32)}</code>
      )}
    </li>
  );
}

function OfTheSameId({ run }: { run: StatusRecord }) {
  const pages = useRunPages({ workflowId: run.workflowId }, { limit: SHOWN_RUNS, again: AGAIN_MS });
  return (
    <section className="stack">
      <h2>All runs of this id</h2>
      {pages.error != null && <ErrorNote error={pages.error} onRetry={pages.retry} />}
      <ul className="relations">
        {pages.runs?.map((each) => (
          <li key={each.runId}>
            <StateBadge state={stateOf(each)} />
            {each.runId === run.runId ? (
              <span>
                <code>{shorten(each.runId, 17)}</code> <span className="muted">this one</span>
              </span>
            ) : (
              <Link
                to="/runs/$workflowId/$runId"
                params={{ workflowId: each.workflowId, runId: each.runId }}
                className="mono"
              >
                {shorten(each.runId, 17)}
              </Link>
            )}
            <span className="muted">
              <Time at={each.startedAt} />
            </span>
          </li>
        ))}
      </ul>
      <More of={pages}>Show older runs</More>
    </section>
  );
}
