/** One side: the run that is shown, or a list to choose it from. */
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useId, useState } from 'react';
import { statusQuery } from '../app/queries.js';
import { useRunPages } from '../app/run-pages.js';
import { Button } from '../components/Button.js';
import { ErrorNote } from '../components/ErrorNote.js';
import { legible, shorten } from '../components/legible.js';
import { More } from '../components/More.js';
import { StateBadge } from '../components/StateBadge.js';
import { stateOf } from '../components/state.js';
import { Time } from '../components/Time.js';
import type { RunRef } from './compared-run.js';

/** At first, and with each click on more. */
const SHOWN = 12;

export function RunPicker({
  label,
  chosen,
  other,
  onChoose,
}: {
  label: string;
  chosen: RunRef | undefined;
  other: RunRef | undefined;
  onChoose: (ref: RunRef | undefined) => void;
}) {
  return (
    <section className="compare-side" aria-label={label}>
      {chosen ? (
        <Chosen {...{ label, chosen, onChoose }} />
      ) : (
        <Choice label={label} other={other} onChoose={onChoose} />
      )}
    </section>
  );
}

function Chosen({
  label,
  chosen,
  onChoose,
}: {
  label: string;
  chosen: RunRef;
  onChoose: (ref: undefined) => void;
}) {
  const { data } = useQuery(statusQuery(chosen.workflowId, chosen.runId));
  return (
    <>
      <div className="line">
        <span className="muted">{label}</span>
        <Button look="quiet" onClick={() => onChoose(undefined)}>
          Change<span className="unseen"> the {label.toLowerCase()}</span>
        </Button>
      </div>
      <p className="compare-name">
        <Link to="/runs/$workflowId/$runId" params={{ ...chosen }} title={legible(chosen.workflowId)}>
          {shorten(chosen.workflowId, 36)}
        </Link>
        {data && <StateBadge state={stateOf(data)} />}
      </p>
      <p className="muted">
        {data ? (
          <>
            {data.workflowType}, started <Time at={data.startedAt} />
          </>
        ) : (
          '…'
        )}
      </p>
    </>
  );
}

function Choice({
  label,
  other,
  onChoose,
}: {
  label: string;
  other: RunRef | undefined;
  onChoose: (ref: RunRef) => void;
}) {
  const id = useId();
  const [text, setText] = useState('');
  const { data: partner } = useQuery({
    ...statusQuery(other?.workflowId ?? '', other?.runId),
    enabled: other !== undefined,
  });
  const workflowType = partner?.workflowType;
  const prefix = text.trim() === '' ? undefined : text.trim();
  const pages = useRunPages(
    { workflowType, workflowIdPrefix: prefix },
    { limit: SHOWN, isEnabled: other === undefined || partner !== undefined },
  );
  const runs = pages.runs?.filter(({ runId }) => runId !== other?.runId);
  return (
    <>
      <div className="field">
        <label htmlFor={id}>
          {label}
          {workflowType && <span className="field-note"> of {workflowType}</span>}
        </label>
        <input
          id={id}
          className="input"
          value={text}
          placeholder="How its id begins"
          autoComplete="off"
          onChange={({ target }) => setText(target.value)}
        />
      </div>
      {pages.error != null && <ErrorNote error={pages.error} onRetry={pages.retry} />}
      <ul className="compare-choices" aria-label={`Runs for the ${label.toLowerCase()}`}>
        {runs?.map((run) => (
          <li key={run.runId}>
            <button type="button" onClick={() => onChoose({ workflowId: run.workflowId, runId: run.runId })}>
              <StateBadge state={stateOf(run)} isShort />
              <span className="cut" title={legible(run.workflowId)}>
                {legible(run.workflowId)}
              </span>
              <Time at={run.startedAt} />
            </button>
          </li>
        ))}
      </ul>
      <More of={pages}>Show older runs</More>
      {runs?.length === 0 && !pages.hasMore && (
        <p className="muted">
          {prefix === undefined
            ? 'There is no other run of this workflow.'
            : 'No run fits. Ids are matched from their beginning.'}
        </p>
      )}
    </>
  );
}
