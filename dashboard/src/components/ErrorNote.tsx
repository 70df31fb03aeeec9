import { ClientError, ConnectionError } from 'perdure/client';
import { Button } from './Button.js';
import { Icon } from './Icon.js';
import { legible } from './legible.js';

/**
 * What went wrong, in the server's words, and under which request its log has it. `unanswered` is what to do where something
 * was sent and no answer came; what is only read is asked for again.
 */
export function ErrorNote({
  error,
  unanswered = 'The server does not answer. It is asked again by itself.',
  onRetry,
}: {
  error: unknown;
  unanswered?: string;
  onRetry?: () => void;
}) {
  const { message, requestId } = told(error, unanswered);
  return (
    <div className="error-note" role="alert">
      <Icon name="heldBack" />
      <div>
        <p>{legible(message)}</p>
        {requestId && (
          <p className="muted small">
            Request <code>{requestId}</code>
          </p>
        )}
      </div>
      {onRetry && <Button onClick={onRetry}>Try again</Button>}
    </div>
  );
}

/** Of what is not sent again by itself: nobody but a person can know whether once more is too often. */
export const DONE_OR_NOT =
  'No answer came, so it may have been done or not: look at the run before you do it once more.';

export function told(error: unknown, unanswered: string): { message: string; requestId?: string } {
  if (error instanceof ConnectionError) return { message: unanswered };
  if (error instanceof ClientError) {
    const isOurs = typeof error.status === 'number' && error.status >= 500;
    return { message: error.message, requestId: isOurs ? error.requestId : undefined };
  }
  return { message: error instanceof Error ? error.message : String(error) };
}
