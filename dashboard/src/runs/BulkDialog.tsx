/** Asks before it acts on several runs, shows how far it is, and keeps what failed. */
import { useQuery } from '@tanstack/react-query';
import { type FormEvent, useEffect, useRef, useState } from 'react';
import { isConnected } from '../app/connection.js';
import { catalogQuery } from '../app/queries.js';
import { useStore } from '../app/store.js';
import { Button } from '../components/Button.js';
import { Dialog } from '../components/Dialog.js';
import { DONE_OR_NOT, told } from '../components/ErrorNote.js';
import { legible } from '../components/legible.js';
import { notify } from '../components/Notices.js';
import { useIsShown } from '../components/shown.js';
import { actOnEach, type BulkAction } from './bulk.js';
import type { Run } from './runs-page.js';

const some = (count: number) => (count === 1 ? '1 run' : `${count} runs`);

interface Progress {
  done: number;
  failures: { run: Run; message: string }[];
  isOver: boolean;
}

export function BulkDialog({
  action,
  runs,
  onClose,
}: {
  action: BulkAction;
  runs: Run[];
  onClose: (hasActed: boolean) => void;
}) {
  const meant = runs.filter(action.applies);
  const [reason, setReason] = useState('');
  const [stepName, setStepName] = useState('');
  const [progress, setProgress] = useState<Progress>();
  const stop = useRef(new AbortController());
  useEffect(() => () => stop.current.abort(), []);
  const isShown = useIsShown();
  // Whoever presses Enter twice means it once; `progress` comes a moment after the first.
  const hasBegun = useRef(false);

  const begin = async (event?: FormEvent) => {
    event?.preventDefault();
    if (hasBegun.current) return;
    hasBegun.current = true;
    let now: Progress = { done: 0, failures: [], isOver: false };
    const show = (change: Partial<Progress>) => {
      now = { ...now, ...change };
      setProgress(now);
    };
    show({});
    await actOnEach(
      meant,
      (run) => action.act(run, { reason: reason || undefined, stepName: stepName || undefined }),
      (run, error) =>
        show({
          done: now.done + 1,
          failures: error
            ? [...now.failures, { run, message: told(error, DONE_OR_NOT).message }]
            : now.failures,
        }),
      stop.current.signal,
    );
    show({ isOver: true });
    // Such as by the browser's button: what is not told here nobody would know.
    const isWhole = now.done === meant.length && now.failures.length === 0;
    if (!isShown.current)
      notify(`${action.verb}: ${inWords(now, meant.length)}`, isWhole ? 'done' : 'failed');
  };

  return (
    <Dialog
      title={`${action.verb} ${some(meant.length)}?`}
      // While it is under way, leaving is leaving the rest: what has been done is told first.
      onClose={() => (progress && !progress.isOver ? stop.current.abort() : onClose(progress !== undefined))}
      actions={
        progress === undefined ? (
          <>
            <Button onClick={() => onClose(false)}>Leave them</Button>
            <Button look="primary" icon={action.icon} onClick={() => void begin()}>
              {action.verb} {some(meant.length)}
            </Button>
          </>
        ) : progress.isOver ? (
          <Button key="close" look="primary" autoFocus onClick={() => onClose(true)}>
            Close
          </Button>
        ) : (
          <Button key="leave" autoFocus onClick={() => stop.current.abort()}>
            Leave the rest
          </Button>
        )
      }
    >
      {progress === undefined ? (
        <form className="stack" onSubmit={begin}>
          <p>{action.effect}</p>
          <Which runs={meant} />
          {meant.length < runs.length && (
            <p className="muted">
              {some(runs.length - meant.length)} of those that are chosen will be left alone: {action.others}.
            </p>
          )}
          {action.takes === 'step' && <StepField runs={meant} value={stepName} onChange={setStepName} />}
          {action.takes !== 'nothing' && (
            <label className="field">
              <span>Reason, for whoever looks at them later</span>
              <input className="input" value={reason} onChange={(event) => setReason(event.target.value)} />
            </label>
          )}
        </form>
      ) : (
        <Report progress={progress} total={meant.length} />
      )}
    </Dialog>
  );
}

/** By their ids, as far as anybody reads them. */
const NAMED = 200;

function Which({ runs }: { runs: Run[] }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, with keys as well
    <ul className="failures" aria-label="Which runs" tabIndex={0}>
      {runs.slice(0, NAMED).map(({ runId, workflowId, workflowType }) => (
        <li key={runId}>
          <code>{legible(workflowId)}</code> <span className="muted">{workflowType}</span>
        </li>
      ))}
      {runs.length > NAMED && <li className="muted">and {some(runs.length - NAMED)} more</li>}
    </ul>
  );
}

function inWords({ done, failures, isOver }: Progress, total: number): string {
  const failed = failures.length > 0 ? `, ${failures.length} failed` : '';
  const left = isOver && done < total ? `, ${total - done} left as they were` : '';
  return `${done - failures.length} of ${some(total)} done${failed}${left}.`;
}

function Report({ progress, total }: { progress: Progress; total: number }) {
  const { done, failures, isOver } = progress;
  const isThere = useStore(isConnected);
  return (
    <>
      <progress className="progress" aria-label="How far it is" max={total} value={done} />
      <p role="status">
        {inWords(progress, total)}
        {!isOver && !isThere && ' The server does not answer: the rest is sent when it is back.'}
      </p>
      {failures.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: as above
        <ul className="failures" aria-label="What failed" tabIndex={0}>
          {failures.map(({ run, message }) => (
            <li key={run.runId}>
              <code>{legible(run.workflowId)}</code> <span className="field-problem">{legible(message)}</span>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

function StepField({
  runs,
  value,
  onChange,
}: {
  runs: Run[];
  value: string;
  onChange: (value: string) => void;
}) {
  const { data } = useQuery(catalogQuery());
  const types = new Set(runs.map(({ workflowType }) => workflowType));
  const steps = data?.workflows.filter(({ name }) => types.has(name)).flatMap((entry) => entry.steps) ?? [];
  const names = [...new Set(steps.map(({ name }) => name))].sort();
  return (
    <label className="field">
      <span>Where the new runs go on</span>
      <select className="select" value={value} onChange={(event) => onChange(event.target.value)}>
        <option value="">From the beginning</option>
        {names.map((name) => (
          <option key={name} value={name}>
            After the last completed {name}
          </option>
        ))}
      </select>
      <span className="field-hint">
        A run that has not completed the step is listed as failed and stays as it is.
      </span>
    </label>
  );
}
