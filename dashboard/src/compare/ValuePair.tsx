/** Two values: what differs between them, place by place, and both whole on demand. */
import { useId, useState } from 'react';
import { Icon } from '../components/Icon.js';
import { JsonTree } from '../components/JsonTree.js';
import { pathText } from '../forms/value.js';
import { type Difference, differences } from './differences.js';

export function ValuePair({
  name,
  left,
  right,
  isOpenAtFirst = false,
}: {
  name: string;
  left: unknown;
  right: unknown;
  isOpenAtFirst?: boolean;
}) {
  const id = useId();
  const { found, isCut } = differences(left, right);
  const isAlike = found.length === 0;
  // Where the values have nothing in common, they are shown side by side and not place by place.
  const isWhole = found[0]?.path.length === 0 && (isCompound(left) || isCompound(right));
  const [isOpen, setIsOpen] = useState(isOpenAtFirst || isWhole);
  return (
    <div className="value-pair">
      <button
        type="button"
        className="value-toggle"
        aria-expanded={isOpen}
        aria-controls={id}
        onClick={() => setIsOpen(!isOpen)}
      >
        <Icon name={isOpen ? 'down' : 'right'} />
        <strong>{name}</strong>
        <span className={isAlike ? 'muted' : 'differs'}>
          {isAlike ? 'alike' : isWhole ? 'differs' : counted(found.length, isCut)}
        </span>
      </button>
      {!isAlike && !isWhole && <Differences found={found} name={name} />}
      <div id={id} hidden={!isOpen}>
        {isOpen && (
          <div className="compare-columns value-trees">
            <JsonTree value={left} label={`${name}, left`} />
            <JsonTree value={right} label={`${name}, right`} />
          </div>
        )}
      </div>
    </div>
  );
}

const counted = (places: number, isCut: boolean): string =>
  places === 1 ? '1 place differs' : `${places}${isCut ? '+' : ''} places differ`;

const isCompound = (value: unknown): boolean => typeof value === 'object' && value !== null;

const SHOWN = 8;

function Differences({ found, name }: { found: Difference[]; name: string }) {
  const [shown, setShown] = useState(SHOWN);
  return (
    <>
      <ul className="differences" aria-label={`What differs in ${name}`}>
        {found.slice(0, shown).map(({ path, left, right }) => (
          <li key={JSON.stringify(path)} className="compare-columns">
            <code className="difference-path">{path.length === 0 ? 'all of it' : pathText(path)}</code>
            <Side value={left} side="left" />
            <Side value={right} side="right" />
          </li>
        ))}
      </ul>
      {found.length > shown && (
        <button type="button" className="link" onClick={() => setShown(shown + 50)}>
          {found.length - shown} more
        </button>
      )}
    </>
  );
}

const SHOWN_TEXT = 200;

function Side({ value, side }: { value: unknown; side: string }) {
  const text = value === undefined ? undefined : JSON.stringify(value);
  return (
    <span className="difference-value">
      <span className="unseen">{side}: </span>
      {text === undefined ? (
        <span className="muted">nothing</span>
      ) : (
        <code title={text.length > SHOWN_TEXT ? 'Open it to see all' : undefined}>
          {text.length > SHOWN_TEXT ? `${text.slice(0, SHOWN_TEXT)}…` : text}
        </code>
      )}
    </span>
  );
}
