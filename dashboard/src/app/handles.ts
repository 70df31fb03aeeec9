/** One run, with all that can be asked of it and done to it. */
import type { WorkflowHandle } from 'perdure/client';
import { client } from './api.js';

export const handleOf = ({ workflowId, runId }: { workflowId: string; runId?: string }): WorkflowHandle =>
  client.handle(workflowId, runId);
