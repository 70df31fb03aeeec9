/** What was thrown, with what caused it, down to the first cause. */
import type { ReactNode } from 'react';
import { JsonTree } from '../components/JsonTree.js';
import { legible } from '../components/legible.js';

export interface Thrown {
  name: string;
  message: string;
  /** `workflow#step`. */
  activityType?: string;
  stack?: string | null;
  cause?: Thrown;
  properties?: Record<string, unknown>;
}

const DEEPEST = 10;

export function Failure({ error, from }: { error: Thrown; from?: ReactNode }) {
  const chain: Thrown[] = [];
  for (let at: Thrown | undefined = error; at && chain.length < DEEPEST; at = at.cause) chain.push(at);
  return (
    <ol className="failure" aria-label="The error and its causes">
      {chain.map((each, depth) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: it is its place in the chain
        <li key={depth}>
          {depth > 0 && <span className="muted small">caused by</span>}
          <p>
            <strong className="failure-name">{legible(each.name)}</strong>{' '}
            <span className="failure-message">{legible(each.message)}</span>
          </p>
          {each.activityType && (
            <p className="muted small">
              in the step <code>{each.activityType.split('#').at(-1)}</code>
            </p>
          )}
          {depth === 0 && from}
          {each.properties && Object.keys(each.properties).length > 0 && (
            <JsonTree value={each.properties} label={`properties of ${each.name}`} />
          )}
          {each.stack && (
            <details>
              <summary>Stack</summary>
              {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached with the keyboard */}
              <pre className="json-text" tabIndex={0}>
                {legible(each.stack)}
              </pre>
            </details>
          )}
        </li>
      ))}
    </ol>
  );
}

interface RecordedFailure {
  message?: string;
  type?: string;
  stackTrace?: string | null;
  cause?: RecordedFailure;
}

/** As events have it. */
export function fromEvent({ message = '', type, stackTrace, cause }: RecordedFailure): Thrown {
  return { name: type ?? 'Error', message, stack: stackTrace, cause: cause && fromEvent(cause) };
}

interface SerializedError {
  name: string;
  message: string;
  activityType?: string;
  cause?: SerializedError;
}

/** As results have it. */
export function fromResult({ name, message, activityType, cause, ...properties }: SerializedError): Thrown {
  return { name, message, activityType, properties, cause: cause && fromResult(cause) };
}
