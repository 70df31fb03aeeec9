/** Why the run is where it is, in words, with what to do about it. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { StatusRecord, WhyReason } from 'perdure/client';
import { useState } from 'react';
import { handleOf } from '../app/handles.js';
import { Button } from '../components/Button.js';
import { DONE_OR_NOT, told } from '../components/ErrorNote.js';
import { legible } from '../components/legible.js';
import { notify } from '../components/Notices.js';
import { Sentence } from '../components/Sentence.js';
import { stateOf } from '../components/state.js';
import { Took } from '../components/Time.js';
import { RaiseBudget } from './dialogs/BudgetDialog.js';
import { ResetDialog } from './dialogs/ResetDialog.js';
import { whyQuery } from './queries.js';

const ASK_EVERY_MS = 3_000;
/** More would push the views off the screen. */
const SHOWN_REASONS = 5;

export function WhyPanel({ run }: { run: StatusRecord }) {
  const { data: why } = useQuery({
    ...whyQuery(run),
    refetchInterval: run.status === 'running' ? ASK_EVERY_MS : false,
    retry: false,
  });
  const [first, ...others] = why?.reasons ?? [];
  const shown = others.slice(0, SHOWN_REASONS);
  const since = run.status === 'running' ? why?.since : undefined;
  // With several reasons each is said once, the first in place of what they say together.
  const text =
    first && others.length > 0 ? first.message : (why?.summary ?? run.heldBack?.reason ?? '\u00a0');
  return (
    <section
      className={`why why-${stateOf(run)} ${why?.isStuck ? 'is-stuck' : ''}`}
      aria-label="Why it is where it is"
      aria-live="polite"
    >
      <p className="why-summary">
        <Sentence text={text} />
        {since && (
          <span className="muted" aria-live="off">
            {' '}
            For <Took from={since} />.
          </span>
        )}
      </p>
      {first && <Action reason={first} run={run} />}
      {shown.length > 0 && (
        <ul className="why-reasons">
          {shown.map((reason, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: reasons have nothing else that tells them apart
            <li key={index}>
              <Sentence text={reason.message} /> <Action reason={reason} run={run} />
            </li>
          ))}
          {others.length > shown.length && (
            <li className="muted">and {others.length - shown.length} more, which the timeline shows</li>
          )}
        </ul>
      )}
    </section>
  );
}

/** The action as a button or a link where the page can do it, else in words. */
function Action({ reason, run }: { reason: WhyReason; run: StatusRecord }) {
  if (reason.code === 'paused') {
    return reason.by === 'budget' ? <RaiseBudget run={run} /> : <Resume run={run} />;
  }
  if (reason.code === 'child') {
    // Straight to where somebody has to act, over all generations between.
    const { workflowId, runId, workflowType } = reason.stuckAt ?? reason;
    return (
      <Link to="/runs/$workflowId/$runId" params={{ workflowId, runId }}>
        Look at {workflowType} {legible(workflowId)}
      </Link>
    );
  }
  const next = reason.code === 'closed' ? reason.newRunId : undefined;
  if (next) {
    return (
      <Link to="/runs/$workflowId/$runId" params={{ workflowId: run.workflowId, runId: next }}>
        Look at the run that took over
      </Link>
    );
  }
  if (reason.code === 'closed' && reason.action) return <Reset run={run} />;
  if (reason.code === 'noWorker') {
    return (
      <span className="why-action">
        {reason.action} <Link to="/workers">Workers</Link>
      </span>
    );
  }
  return reason.action ? <span className="why-action">{reason.action}</span> : null;
}

/** What the API would be asked for, as a button. */
function Reset({ run }: { run: StatusRecord }) {
  const [isAsked, setIsAsked] = useState(false);
  return (
    <span className="why-action line">
      When the cause is gone, choose a completed step on the timeline to go on after it, or
      <Button icon="reset" onClick={() => setIsAsked(true)}>
        Begin anew…
      </Button>
      {isAsked && <ResetDialog run={run} onClose={() => setIsAsked(false)} />}
    </span>
  );
}

function Resume({ run }: { run: StatusRecord }) {
  const queries = useQueryClient();
  const resume = useMutation({
    mutationFn: () => handleOf(run).resume(),
    onSuccess: () => {
      notify('Resumed.');
      void queries.invalidateQueries({ queryKey: ['run', run.workflowId, run.runId] });
    },
    onError: (error) => notify(told(error, DONE_OR_NOT).message, 'failed'),
  });
  return (
    <Button icon="play" busy={resume.isPending} onClick={() => resume.mutate()}>
      Resume now
    </Button>
  );
}
