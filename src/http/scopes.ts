/** The two forms in which most routes of a workflow exist: its latest run, or one run by its id. */
import { z } from 'zod';
import type { RunSelector } from '../engine.js';
import { RunId, WorkflowId } from './wire/schemas.js';

const LatestPath = z.object({ id: WorkflowId });
const PinnedPath = z.object({ id: WorkflowId, rid: RunId });

export interface Scope {
  /** What the path of its routes starts with. */
  prefix: string;
  params: typeof LatestPath | typeof PinnedPath;
  isPinned: boolean;
  /** Stands in the ids of its operations: `getStatus`, `getRunStatus`. */
  infix: '' | 'Run';
  /** For sentences of the documentation. */
  whose: string;
}

export const LATEST: Scope = {
  prefix: '/workflow/:id',
  params: LatestPath,
  isPinned: false,
  infix: '',
  whose: 'the latest run of a workflow',
};

export const PINNED: Scope = {
  prefix: '/workflow/:id/runs/:rid',
  params: PinnedPath,
  isPinned: true,
  infix: 'Run',
  whose: 'one run',
};

export const SCOPES = [LATEST, PINNED];

export function selectorOf(params: { id: string; rid?: string }): RunSelector {
  return params.rid === undefined ? { workflowId: params.id } : { workflowId: params.id, runId: params.rid };
}
