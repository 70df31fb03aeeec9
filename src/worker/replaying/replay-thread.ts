/** The thread that replays: it has or loads the workflows, says so, and answers each history with what has become of it. */
import { parentPort, workerData } from 'node:worker_threads';
import type { HistoryEvent } from '../../core/history/event.js';
import type { ReplayResult } from '../../core/replay-result.js';
import { LoadError } from '../loading/load-error.js';
import { ReplayCheck, type WorkflowCode } from './replay-check.js';

/** The folder that the thread loads, or what somebody has loaded. */
export type ReplaySource = { folder: string } | { code: WorkflowCode };

export type FromThread =
  | { kind: 'loaded' }
  | { kind: 'result'; result: ReplayResult }
  /** The folder cannot be loaded. */
  | { kind: 'refused'; message: string };

const tell = (message: FromThread): void => parentPort?.postMessage(message);

async function codeOf(source: ReplaySource): Promise<WorkflowCode> {
  if ('code' in source) return source.code;
  const { loadWorkflows } = await import('../loading/loader.js');
  return loadWorkflows(source.folder);
}

// What is thrown beside what is refused is our own bug and ends the thread.
try {
  const check = new ReplayCheck(await codeOf(workerData as ReplaySource));
  parentPort?.on('message', (events: HistoryEvent[]) => tell({ kind: 'result', result: check.of(events) }));
  tell({ kind: 'loaded' });
} catch (error) {
  if (!(error instanceof LoadError)) throw error;
  tell({ kind: 'refused', message: error.message });
}
