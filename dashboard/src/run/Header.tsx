/** What stays on the screen of a run: what it is, and what can be done to it now. */
import { Link } from '@tanstack/react-router';
import type { StatusRecord } from 'perdure/client';
import { RunMessages } from '../act/RunMessages.js';
import { CopyId } from '../components/CopyId.js';
import { StateBadge } from '../components/StateBadge.js';
import { stateOf } from '../components/state.js';
import { Time, Took } from '../components/Time.js';
import { RunActions } from './RunActions.js';

export function Header({ run }: { run: StatusRecord }) {
  const { workflowId, runId, workflowType, catalog, startedAt, completedAt } = run;
  return (
    <header className="run-header">
      <div className="run-title">
        <Link to="/runs" search={{ workflow: workflowType }} className="run-type">
          {workflowType}
        </Link>
        <h1>
          <CopyId id={workflowId} length={40} label="Copy the workflow's id" />
        </h1>
        <StateBadge state={stateOf(run)} />
      </div>
      <div className="run-actions">
        <RunMessages run={run} />
        <RunActions run={run} />
      </div>
      <dl className="run-facts">
        <div>
          <dt>Started</dt>
          <dd>
            <Time at={startedAt} />
          </dd>
        </div>
        <div>
          <dt>{completedAt === null ? 'Runs for' : 'Took'}</dt>
          <dd>
            <Took from={startedAt} to={completedAt} />
          </dd>
        </div>
        {completedAt !== null && (
          <div>
            <dt>Ended</dt>
            <dd>
              <Time at={completedAt} />
            </dd>
          </div>
        )}
        <div>
          <dt>Run</dt>
          <dd>
            <CopyId id={runId} length={17} label="Copy the run's id" />
          </dd>
        </div>
        <div>
          <dt>Catalog</dt>
          <dd>
            <Link to="/catalog" search={{ catalog, workflow: workflowType }}>
              {catalog}
            </Link>
          </dd>
        </div>
        {run.version && (
          <div>
            <dt>Code</dt>
            <dd>
              <code title={run.version.id}>{run.version.name ?? run.version.id.slice(0, 8)}</code>
            </dd>
          </div>
        )}
      </dl>
    </header>
  );
}
