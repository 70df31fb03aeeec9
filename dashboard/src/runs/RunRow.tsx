import { Link } from '@tanstack/react-router';
import { type MouseEventHandler, memo, type ReactNode } from 'react';
import { legible, shorten } from '../components/legible.js';
import { Sentence } from '../components/Sentence.js';
import { StateBadge } from '../components/StateBadge.js';
import { stateOf } from '../components/state.js';
import { Time, Took } from '../components/Time.js';
import type { Run } from './runs-page.js';

/**
 * What it waits for, or what became of it, in a few words. Of a completed run that is how long it took, and what its state
 * says is not said again.
 */
function whyOf(run: Run): string {
  if (run.status === 'completed') return '';
  const text = run.summary ?? run.paused?.reason ?? run.heldBack?.reason ?? '';
  return text.replace(/^It (?:(?:has|is|was) [a-z ]+: |)/, '');
}

interface Props {
  run: Run;
  index: number;
  top: number;
  height: number;
  isFocusable: boolean;
  isSelected: boolean;
  onToggle(runId: string, isRange: boolean): void;
  onFocus(index: number): void;
}

export const RunRow = memo(function RunRow(props: Props) {
  const { run, index, top, height, isFocusable, isSelected, onToggle, onFocus } = props;
  const { workflowId, runId, workflowType, startedAt, completedAt } = run;
  const why = whyOf(run);
  return (
    // biome-ignore lint/a11y/useSemanticElements lint/a11y/useKeyWithClickEvents: it is placed where the list has scrolled to, and the list has the keys
    <div
      role="row"
      aria-rowindex={index + 2}
      aria-selected={isSelected}
      className={`run-row ${isSelected ? 'is-selected' : ''}`}
      data-index={index}
      data-run={runId}
      tabIndex={isFocusable ? 0 : -1}
      style={{ transform: `translateY(${top}px)`, height }}
      onFocus={() => onFocus(index)}
      onClick={followLink}
      onAuxClick={followLink}
    >
      <Cell className="run-check">
        <input
          type="checkbox"
          tabIndex={-1}
          aria-label={`Choose ${legible(workflowId)}`}
          checked={isSelected}
          onChange={(event) => onToggle(runId, (event.nativeEvent as MouseEvent).shiftKey === true)}
        />
      </Cell>
      <Cell className="run-state">
        <StateBadge state={stateOf(run)} />
      </Cell>
      <Cell className="run-workflow cut" title={workflowType}>
        {workflowType}
      </Cell>
      <Cell className="run-id">
        <Link
          to="/runs/$workflowId/$runId"
          params={{ workflowId, runId }}
          className="run-link mono"
          tabIndex={-1}
          title={legible(workflowId)}
        >
          {shorten(workflowId, 28)}
        </Link>
      </Cell>
      <Cell className="run-why cut" title={legible(why) || undefined}>
        <span className="run-workflow-narrow">{workflowType} </span>
        <Sentence text={why} />
      </Cell>
      <Cell className="run-took">
        <Took from={startedAt} to={completedAt} />
      </Cell>
      <Cell className="run-started">
        <Time at={startedAt} />
      </Cell>
    </div>
  );
});

/**
 * What can be hovered over lies above the link, and leads to the run as the rest of the row does, with the keys and buttons for a
 * new tab as well.
 */
const followLink: MouseEventHandler<HTMLElement> = (event) => {
  const isOwn = (event.target as HTMLElement).closest('a, .run-check') !== null;
  if (isOwn || event.button === SECONDARY) return;
  const link = event.currentTarget.querySelector('a')!;
  const isForNewTab = event.button === MIDDLE || event.ctrlKey || event.metaKey || event.shiftKey;
  if (isForNewTab) window.open(link.href, '_blank', 'noopener');
  else link.click();
};

const MIDDLE = 1;
const SECONDARY = 2;

function Cell({ className, title, children }: { className: string; title?: string; children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/useSemanticElements lint/a11y/useFocusableInteractive: the row is what has the focus
    <div role="gridcell" className={className} title={title}>
      {children}
    </div>
  );
}
