/** Two runs of a workflow side by side. */
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { Button } from '../components/Button.js';
import { Empty } from '../components/Empty.js';
import { ErrorNote } from '../components/ErrorNote.js';
import { Loading } from '../components/Loading.js';
import { Page } from '../components/Page.js';
import { align } from './align.js';
import './compare.css';
import { type ComparedRun, MAX_EVENTS, type RunRef, useComparedRun } from './compared-run.js';
import { Outcomes } from './Outcomes.js';
import { RunPicker } from './RunPicker.js';
import { StepPairs } from './StepPairs.js';

type Side = 'left' | 'right';

export function ComparePage() {
  const { leftId, leftRun, rightId, rightRun } = useSearch({ from: '/compare' });
  const navigate = useNavigate();
  const refs: Record<Side, RunRef | undefined> = {
    left: refOf(leftId, leftRun),
    right: refOf(rightId, rightRun),
  };
  const show = (next: Record<Side, RunRef | undefined>) =>
    void navigate({
      to: '/compare',
      search: {
        ...{ leftId: next.left?.workflowId, leftRun: next.left?.runId },
        ...{ rightId: next.right?.workflowId, rightRun: next.right?.runId },
      },
    });
  const choose = (side: Side, ref: RunRef | undefined) => show({ ...refs, [side]: ref });
  const { left, right } = refs;
  return (
    <Page
      title="Compare two runs"
      tools={
        left &&
        right && (
          <Button icon="compare" onClick={() => show({ left: right, right: left })}>
            Swap
          </Button>
        )
      }
    >
      <div className={left && right ? 'compare-columns compare-sides' : 'compare-choosing'}>
        <RunPicker label="Left run" chosen={left} other={right} onChoose={(ref) => choose('left', ref)} />
        <RunPicker label="Right run" chosen={right} other={left} onChoose={(ref) => choose('right', ref)} />
      </div>
      {left && right && (
        <Both
          key={`${left.workflowId}/${left.runId} ${right.workflowId}/${right.runId}`}
          left={left}
          right={right}
        />
      )}
    </Page>
  );
}

const refOf = (workflowId: string | undefined, runId: string | undefined): RunRef | undefined =>
  workflowId !== undefined && runId !== undefined ? { workflowId, runId } : undefined;

function Both(refs: Record<Side, RunRef>) {
  const left = useComparedRun(refs.left);
  const right = useComparedRun(refs.right);
  const error = left.error ?? right.error;
  if (error) return <ErrorNote error={error} />;
  if (!left.run || !right.run) return <Loading what="the two runs" />;
  return <Comparison left={left.run} right={right.run} />;
}

function Comparison({ left, right }: Record<Side, ComparedRun>) {
  const [isOnlyDifferent, setIsOnlyDifferent] = useState(false);
  const pairs = useMemo(
    () => (left.steps && right.steps ? align(left.steps, right.steps) : undefined),
    [left.steps, right.steps],
  );
  const isDifferent = ({ differs, left: l, right: r }: ReturnType<typeof align>[number]) =>
    differs.length > 0 || !l || !r;
  const different = pairs?.filter(isDifferent) ?? [];
  return (
    <>
      {left.status.workflowType !== right.status.workflowType && (
        <p role="note" className="muted">
          These are runs of two workflows, {left.status.workflowType} and {right.status.workflowType}: steps
          are aligned where they have the same name.
        </p>
      )}
      <Outcomes left={left} right={right} />
      <section className="stack" aria-label="Steps">
        <div className="line compare-steps-head">
          <h2>Steps</h2>
          {pairs && (
            <span className="muted" role="status">
              {different.length === 0 ? 'All alike' : `${different.length} of ${pairs.length} differ`}
            </span>
          )}
          {different.length > 0 && different.length < (pairs?.length ?? 0) && (
            <label className="checkbox">
              <input
                type="checkbox"
                checked={isOnlyDifferent}
                onChange={({ target }) => setIsOnlyDifferent(target.checked)}
              />
              Only what differs
            </label>
          )}
        </div>
        {(left.isCut || right.isCut) && (
          <p className="muted">Of a longer history the first {MAX_EVENTS} events are compared.</p>
        )}
        {!pairs && <Loading what="what they did" />}
        {pairs?.length === 0 && <Empty title="Neither run has done a step" />}
        {pairs && pairs.length > 0 && (
          <StepPairs pairs={isOnlyDifferent ? different : pairs} left={left.ref} right={right.ref} />
        )}
      </section>
    </>
  );
}
