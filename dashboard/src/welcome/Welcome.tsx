/** In place of the list of runs while there is none: what to do first. */
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { catalogQuery, workersQuery } from '../app/queries.js';
import { Icon } from '../components/Icon.js';
import { examplesOf } from '../forms/starting-value.js';
import { StartForm } from '../start/StartForm.js';
import { HowToServe } from '../workers/HowToServe.js';
import './welcome.css';

/** Often enough that the page goes on by itself when somebody has just started a worker. */
const LOOK_EVERY_MS = 2_000;

export function Welcome() {
  const { data: catalog } = useQuery({ ...catalogQuery(), refetchInterval: LOOK_EVERY_MS });
  const { data: served } = useQuery({ ...workersQuery, refetchInterval: LOOK_EVERY_MS });
  if (!catalog || !served) return null;
  const workflows = catalog.workflows;
  const first = workflows.find(({ inputSchema }) => examplesOf(inputSchema).length > 0) ?? workflows[0];
  const workers = served.workers.filter((worker) => worker.catalog === catalog.catalog);
  const [example] = examplesOf(first?.inputSchema ?? null);
  return (
    <div className="welcome">
      <h2>Nothing has run yet</h2>
      <ol className="welcome-steps">
        <Step number={1} isDone={workers.length > 0} title={workersTitle(workers.length)}>
          {workers.length === 0 && <HowToServe />}
        </Step>
        <Step number={2} isDone={workflows.length > 0} title={workflowsTitle(workflows.length)}>
          {workflows.length > 0 && (
            <p className="muted">
              {workflows.slice(0, 8).map(({ name }, index) => (
                <span key={name}>
                  {index > 0 && ', '}
                  <Link to="/catalog" search={{ workflow: name }}>
                    {name}
                  </Link>
                </span>
              ))}
              {workflows.length > 8 && ` and ${workflows.length - 8} more`}
            </p>
          )}
        </Step>
        {first && (
          <Step number={3} isDone={false} title={`Start one: ${first.name}`}>
            {first.description && <p className="muted">{first.description}</p>}
            <StartForm
              key={first.name}
              entry={first}
              catalog={undefined}
              given={example === undefined ? undefined : { input: example }}
              isCompact
            />
            {workers.length === 0 && (
              <p className="muted">It can be started now, and waits until a worker is there.</p>
            )}
            <p className="muted">
              Or <Link to="/start">choose another one</Link>.
            </p>
          </Step>
        )}
      </ol>
    </div>
  );
}

const workersTitle = (count: number): string =>
  count === 0
    ? 'No worker is connected'
    : count === 1
      ? 'A worker is connected'
      : `${count} workers are connected`;

const workflowsTitle = (count: number): string =>
  count === 0
    ? 'Workflows appear here once a worker has registered them'
    : count === 1
      ? 'One workflow is there'
      : `${count} workflows are there`;

function Step({
  number,
  isDone,
  title,
  children,
}: {
  number: number;
  isDone: boolean;
  title: string;
  children?: ReactNode;
}) {
  return (
    <li className="welcome-step">
      <span className={`welcome-mark ${isDone ? 'is-done' : ''}`}>
        {isDone ? <Icon name="completed" /> : number}
        {isDone && <span className="unseen">Done:</span>}
      </span>
      <div className="stack">
        <h3>{title}</h3>
        {children}
      </div>
    </li>
  );
}
