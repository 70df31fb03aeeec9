import type { ErrorComponentProps } from '@tanstack/react-router';
import { Empty } from '../components/Empty.js';
import { ErrorNote } from '../components/ErrorNote.js';

/** A view that could not be shown: our own mistake, or a file of the page that is gone since the server was replaced. */
export function Broken({ error }: ErrorComponentProps) {
  return (
    <Empty title="This view could not be shown">
      <ErrorNote error={error} onRetry={() => location.reload()} />
    </Empty>
  );
}
