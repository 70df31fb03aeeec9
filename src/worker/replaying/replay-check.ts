/** Whether the code that is here still fits the history of a run: what would happen to the run if it went on with this code. */

import type { HistoryEvent } from '../../core/history/event.js';
import { invariant } from '../../core/invariant.js';
import { silentLog } from '../../core/log.js';
import type { ReplayResult } from '../../core/replay-result.js';
import type { TurnTask } from '../../core/task.js';
import type { LibraryBundle, WorkflowBundle } from '../loading/bundle.js';
import { SourceLines } from '../loading/source-lines.js';
import { createSandbox, type Sandbox } from '../sandbox/host.js';

/** The workflow side of a folder, which is all that a replay needs. Plain data, so that it can go to a thread. */
export interface WorkflowCode {
  bundles: WorkflowBundle[];
  library: LibraryBundle | undefined;
  sourceMaps: ReadonlyMap<string, string>;
}

export class ReplayCheck {
  readonly #sandbox: Sandbox;

  constructor({ bundles, library, sourceMaps }: WorkflowCode) {
    this.#sandbox = createSandbox({
      ...{ workflows: bundles, library, stacks: new SourceLines(sourceMaps), log: silentLog },
      cacheSize: 0,
      // What a workflow tells others is not compared.
      callbackUrl: ({ callbackId }) => `https://replayed.invalid/${callbackId}`,
    });
  }

  of(events: HistoryEvent[]): ReplayResult {
    const first = events[0];
    invariant(first?.type === 'WORKFLOW_EXECUTION_STARTED', 'a history begins with the start of a run');
    const { workflowType, workflowId, catalog, originalExecutionRunId } = first.attributes;
    const task: TurnTask = {
      kind: 'turn',
      turnId: 0,
      runId: originalExecutionRunId,
      ...{ workflowId, workflowType, catalog, events },
      startedAt: events.at(-1)!.at,
      historyLength: events.length,
      continueAsNewSuggested: false,
      updates: [],
      queries: [],
      readOnly: true,
    };
    const answer = this.#sandbox.runTurn(task);
    if (answer.kind !== 'turnFailed') return { ok: true };
    const { message, properties = {} } = answer.failure;
    const { eventId, expected, got } = properties as Record<string, string | number | undefined>;
    return {
      ok: false,
      message,
      eventId: eventId === undefined ? null : String(eventId),
      expected: (expected as string | undefined) ?? null,
      got: (got as string | undefined) ?? null,
    };
  }
}
