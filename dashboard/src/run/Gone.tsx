import { Link } from '@tanstack/react-router';
import { ValidationError, WorkflowNotFoundError } from 'perdure/client';
import { Empty } from '../components/Empty.js';
import { legible, shorten } from '../components/legible.js';

/** A run that is not there, or an id that none can have: asking again would not help. */
export const leadsNowhere = (error: unknown): boolean =>
  error instanceof WorkflowNotFoundError || error instanceof ValidationError;

/** Where a link to a run leads to none. */
export function Gone({ workflowId }: { workflowId: string }) {
  return (
    <Empty title="There is no such run">
      <p>
        Closed runs are kept for as long as the server was told to: this one may be gone. Or the link was cut
        off, or it belongs to another server.
      </p>
      <p>
        <Link to="/runs" search={{ id: workflowId }} title={legible(workflowId)}>
          Runs whose id begins with <code>{shorten(workflowId, 60)}</code>
        </Link>
      </p>
    </Empty>
  );
}
