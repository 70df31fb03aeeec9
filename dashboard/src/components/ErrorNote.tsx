import { ClientError } from 'perdure/client';
import { Button } from './Button.js';
import { Icon } from './Icon.js';
import { legible } from './legible.js';

/** What went wrong, in the server's words, and under which request its log has it. */
export function ErrorNote({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const { message, requestId } = told(error);
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

function told(error: unknown): { message: string; requestId?: string } {
  if (error instanceof ClientError) {
    const isOurs = typeof error.status === 'number' && error.status >= 500;
    return { message: error.message, requestId: isOurs ? error.requestId : undefined };
  }
  return { message: error instanceof Error ? error.message : String(error) };
}
