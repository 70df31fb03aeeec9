/** The two runs as wholes: what each was given, how it ended, how long it took. */
import type { ReactNode } from 'react';
import { STATE_NAMES, stateOf } from '../components/state.js';
import { Took } from '../components/Time.js';
import { isSame } from '../forms/value.js';
import type { ComparedRun } from './compared-run.js';
import { ValuePair } from './ValuePair.js';

export function Outcomes({ left, right }: { left: ComparedRun; right: ComparedRun }) {
  const states = [left, right].map(({ status }) => STATE_NAMES[stateOf(status)]);
  return (
    <section className="stack" aria-label="The runs">
      <dl className="compare-facts">
        <Fact name="State" left={states[0]} right={states[1]} isDifferent={states[0] !== states[1]} />
        <Fact name="Took" left={<TookOf run={left} />} right={<TookOf run={right} />} />
        <Fact
          name="Code"
          left={versionOf(left)}
          right={versionOf(right)}
          isDifferent={versionOf(left) !== versionOf(right)}
        />
      </dl>
      <ValuePair name="Input" left={left.input} right={right.input} />
      {(left.output !== undefined || right.output !== undefined) && (
        <ValuePair name="Output" left={left.output} right={right.output} />
      )}
      {(left.error !== undefined || right.error !== undefined) && (
        <ValuePair
          name="Error"
          left={left.error}
          right={right.error}
          isOpenAtFirst={!isSame(left.error, right.error)}
        />
      )}
    </section>
  );
}

const versionOf = ({ status: { version } }: ComparedRun): string =>
  version ? (version.name ?? version.id.slice(0, 10)) : '–';

const TookOf = ({ run: { status } }: { run: ComparedRun }) => (
  <Took from={status.startedAt} to={status.completedAt} />
);

function Fact({
  name,
  left,
  right,
  isDifferent = false,
}: {
  name: string;
  left: ReactNode;
  right: ReactNode;
  isDifferent?: boolean;
}) {
  return (
    <div className={isDifferent ? 'compare-columns is-different' : 'compare-columns'}>
      <dt>
        {name}
        {isDifferent && <span className="unseen"> (differs)</span>}
      </dt>
      <dd>{left}</dd>
      <dd>{right}</dd>
    </div>
  );
}
