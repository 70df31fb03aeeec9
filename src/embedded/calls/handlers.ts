/** Which handlers a run has: it is asked; where nobody can ask it, what its definition declares is all that is known. */
import { HANDLERS_WITHIN_MS, type RegisteredHandlers } from '../../core/run/why-reasons.js';
import type { Kernel } from '../kernel.js';
import type { ActiveRun } from '../store/active-run.js';
import type { Catalogs } from '../store/catalogs.js';
import { turnNeed } from '../workers/task-need.js';
import type { Messages } from './messages.js';

/** Every worker answers it. */
const METADATA_QUERY = '__workflow_metadata';

interface WorkflowMetadata {
  definition: { signalDefinitions: { name: string }[]; updateDefinitions: { name: string }[] };
}

export async function handlersOf(
  run: ActiveRun,
  kernel: Kernel,
  catalogs: Catalogs,
  messages: Messages,
): Promise<RegisteredHandlers> {
  const { catalog, workflowType } = run.state.started;
  const entry = catalogs.workflow(catalog, workflowType)?.entry;
  const declared = { signals: names(entry?.signals), updates: names(entry?.updates) };
  const isAttended = (misfits: Parameters<typeof turnNeed>[1]) =>
    kernel.dispatcher.isAttended(catalog, turnNeed(workflowType, misfits));
  if (!isAttended(NO_MISFITS)) {
    const unasked = `no worker is connected that serves catalog "${catalog}" and has workflow "${workflowType}"`;
    return { ...declared, unasked };
  }
  if (!isAttended(run.misfits)) return { ...declared, unasked: 'no connected code fits its history' };
  try {
    const asked = await messages.query(run, METADATA_QUERY, [], HANDLERS_WITHIN_MS);
    const { definition } = JSON.parse(asked ?? '') as WorkflowMetadata;
    return { signals: names(definition.signalDefinitions), updates: names(definition.updateDefinitions) };
  } catch (error) {
    return { ...declared, unasked: error instanceof Error ? error.message : String(error) };
  }
}

const NO_MISFITS: ReadonlySet<string> = new Set();

const names = (handlers: { name: string }[] = []) => handlers.map(({ name }) => name);
