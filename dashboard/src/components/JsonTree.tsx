/** Values of users: as a tree whose parts open, or as JSON. They are shown as text and nothing else. */
import { useMemo, useState } from 'react';
import { CopyButton } from './CopyId.js';
import { Icon } from './Icon.js';
import { legible } from './legible.js';

/** What is opened at first, and how many members of one value are shown at a time. */
const OPEN_TO_DEPTH = 4;
/** Of values that are longer than this as JSON, only the outermost is. */
const SMALL = 10_000;
const SHOWN_MEMBERS = 100;
const SHOWN_TEXT = 2_000;
/** Above this the JSON is shown in part: a browser takes long to lay out more, and nobody reads it here. */
const SHOWN_JSON = 200_000;

export function JsonTree({ value, label }: { value: unknown; label: string }) {
  const [isJson, setIsJson] = useState(false);
  const text = useMemo(() => written(value), [value]);
  if (value === undefined) return <p className="muted">Nothing</p>;
  const isCompound = typeof value === 'object' && value !== null;
  return (
    <div className="json">
      <div className="json-tools">
        {isCompound && text !== undefined && (
          <fieldset className="switch" aria-label={`Form of ${label}`}>
            <button type="button" aria-pressed={!isJson} onClick={() => setIsJson(false)}>
              Tree
            </button>
            <button type="button" aria-pressed={isJson} onClick={() => setIsJson(true)}>
              JSON
            </button>
          </fieldset>
        )}
        {text === undefined ? (
          <span className="muted">Nested too deeply for JSON</span>
        ) : (
          <CopyButton text={text} label={`Copy ${label} as JSON`} />
        )}
      </div>
      {isJson && isCompound && text !== undefined ? (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached with the keyboard
        <pre className="json-text" tabIndex={0}>
          {text.length > SHOWN_JSON
            ? `${legible(text.slice(0, SHOWN_JSON))}\n… ${text.length - SHOWN_JSON} more`
            : legible(text)}
        </pre>
      ) : (
        <ul className="json-members json-root" aria-label={label}>
          <Member value={value} depth={text === undefined || text.length > SMALL ? OPEN_TO_DEPTH - 1 : 0} />
        </ul>
      )}
    </div>
  );
}

/** Undefined for a value that goes deeper than the browser can write. */
function written(value: unknown): string | undefined {
  try {
    return JSON.stringify(value, null, 2) ?? '';
  } catch {
    return undefined;
  }
}

function Member({ name, value, depth }: { name?: string; value: unknown; depth: number }) {
  const isCompound = typeof value === 'object' && value !== null;
  const members = isCompound ? Object.entries(value) : [];
  const [isOpen, setIsOpen] = useState(depth < OPEN_TO_DEPTH && members.length <= SHOWN_MEMBERS);
  const [shown, setShown] = useState(SHOWN_MEMBERS);
  const key = name !== undefined && <span className="json-key">{legible(name)}</span>;
  if (!isCompound || members.length === 0) {
    return (
      <li className="json-member">
        <span className="json-leaf">
          {key}
          <Leaf value={value} />
        </span>
      </li>
    );
  }
  const size = Array.isArray(value) ? `[${members.length}]` : `{${members.length}}`;
  return (
    <li className="json-member">
      <button type="button" className="json-toggle" aria-expanded={isOpen} onClick={() => setIsOpen(!isOpen)}>
        <Icon name={isOpen ? 'down' : 'right'} />
        {key}
        <span className="muted">{size}</span>
      </button>
      {isOpen && (
        <ul className="json-members">
          {members.slice(0, shown).map(([each, member]) => (
            <Member key={each} name={each} value={member} depth={depth + 1} />
          ))}
          {members.length > shown && (
            <li>
              <button type="button" className="link" onClick={() => setShown(shown + SHOWN_MEMBERS)}>
                {members.length - shown} more
              </button>
            </li>
          )}
        </ul>
      )}
    </li>
  );
}

function Leaf({ value }: { value: unknown }) {
  const [isWhole, setIsWhole] = useState(false);
  if (typeof value !== 'string') {
    const text = Array.isArray(value)
      ? '[]'
      : typeof value === 'object' && value !== null
        ? '{}'
        : String(value);
    return <span className={`json-${value === null ? 'null' : typeof value}`}>{text}</span>;
  }
  const isCut = value.length > SHOWN_TEXT && !isWhole;
  return (
    <span className="json-string">
      “{legible(isCut ? value.slice(0, SHOWN_TEXT) : value)}”
      {isCut && (
        <button type="button" className="link" onClick={() => setIsWhole(true)}>
          {value.length - SHOWN_TEXT} more characters
        </button>
      )}
    </span>
  );
}
