/** The steps of both runs, one line for each pair; a line opens in place. */
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { Icon, type IconName } from '../components/Icon.js';
import { legible } from '../components/legible.js';
import { duration } from '../components/times.js';
import type { Aspect, ComparedStep, Pair } from './align.js';
import type { RunRef } from './compared-run.js';
import { ValuePair } from './ValuePair.js';

/** More are shown on demand: a browser lays out so many quickly, and nobody reads more at once. */
const SHOWN = 200;

export function StepPairs({ pairs, left, right }: { pairs: Pair[]; left: RunRef; right: RunRef }) {
  const [shown, setShown] = useState(SHOWN);
  return (
    <>
      <ul className="pairs">
        <li className="compare-columns pair-line pair-head" aria-hidden="true">
          <span>Step</span>
          <span>Left</span>
          <span>Right</span>
        </li>
        {pairs.slice(0, shown).map((pair) => (
          <PairLine key={`${pair.kind}/${pair.name}/${pair.occurrence}`} {...{ pair, left, right }} />
        ))}
      </ul>
      {pairs.length > shown && (
        <button type="button" className="link" onClick={() => setShown(shown + 5 * SHOWN)}>
          {pairs.length - shown} more
        </button>
      )}
    </>
  );
}

function PairLine({ pair, left, right }: { pair: Pair; left: RunRef; right: RunRef }) {
  const [isOpen, setIsOpen] = useState(false);
  const { kind, name, occurrence, differs } = pair;
  const isDifferent = differs.length > 0 || !pair.left || !pair.right;
  return (
    <li className="pair">
      <button
        type="button"
        className="compare-columns pair-line"
        aria-expanded={isOpen}
        onClick={() => setIsOpen(!isOpen)}
      >
        <span className="pair-name">
          <Icon name={isOpen ? 'down' : 'right'} />
          <span className="pair-words">
            <span className="pair-title">
              {kind !== 'step' && <Icon name={kind === 'child' ? 'child' : 'clock'} />}
              <span className="cut">{legible(name)}</span>
              {occurrence > 1 && <span className="muted">#{occurrence}</span>}
            </span>
            {isDifferent && <span className="differs small">{differsIn(pair)}</span>}
          </span>
        </span>
        <Side step={pair.left} side="Left" differs={differs} />
        <Side step={pair.right} side="Right" differs={differs} />
      </button>
      {isOpen && (
        <div className="pair-detail">
          <ValuePair name="Input" left={pair.left?.input} right={pair.right?.input} isOpenAtFirst />
          <ValuePair name="Output" left={pair.left?.output} right={pair.right?.output} isOpenAtFirst />
          {(pair.left?.error || pair.right?.error) && (
            <ValuePair
              name="Error"
              left={pair.left?.error ?? undefined}
              right={pair.right?.error ?? undefined}
              isOpenAtFirst
            />
          )}
          <p className="line">
            {pair.left && <InRun run={left} step={pair.left} words="Show in the left run" />}
            {pair.right && <InRun run={right} step={pair.right} words="Show in the right run" />}
          </p>
        </div>
      )}
    </li>
  );
}

function differsIn({ left, right, differs }: Pair): string {
  if (left && right) return differs.join(', ');
  return left ? 'only left' : 'only right';
}

function InRun({ run, step, words }: { run: RunRef; step: ComparedStep; words: string }) {
  return (
    <Link to="/runs/$workflowId/$runId" params={{ ...run }} search={{ tab: 'steps', open: step.id }}>
      {words}
    </Link>
  );
}

const STATES: Record<string, { word: string; icon: IconName; state: string }> = {
  open: { word: 'open', icon: 'running', state: 'running' },
  completed: { word: 'completed', icon: 'completed', state: 'completed' },
  failed: { word: 'failed', icon: 'failed', state: 'failed' },
  timed_out: { word: 'timed out', icon: 'timed_out', state: 'timed_out' },
  left: { word: 'not ended', icon: 'cancelled', state: 'cancelled' },
  cancelled: { word: 'cancelled', icon: 'cancelled', state: 'cancelled' },
  terminated: { word: 'terminated', icon: 'terminated', state: 'terminated' },
};

function Side({ step, side, differs }: { step: ComparedStep | null; side: string; differs: Aspect[] }) {
  if (!step) {
    return (
      <span className="pair-side muted">
        <span className="unseen">{side}: </span>not there
      </span>
    );
  }
  const { word, icon, state } = STATES[step.state] ?? STATES.open!;
  const mark = (aspect: Aspect) => (differs.includes(aspect) ? 'differs' : 'muted');
  return (
    <span className="pair-side">
      <span className="unseen">{side}: </span>
      <span className={`state state-${state}`}>
        <Icon name={icon} />
        {word}
      </span>
      {step.attempts > 1 && <span className={mark('attempts')}>{step.attempts} attempts</span>}
      <span className={`time ${mark('duration')}`}>
        {step.durationMs === null ? '' : duration(step.durationMs)}
      </span>
    </span>
  );
}
