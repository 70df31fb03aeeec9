/**
 * An engine for tests of the HTTP door alone: runs end as their workflow's name says, at once or when the test says
 * so. What the door does with a real engine is tested in test/.
 */
import type { Abort } from '../core/abort.js';
import type { Catalog, CatalogEntry, HandlerEntry, JsonSchema } from '../core/catalog.js';
import { PerdureError } from '../core/errors.js';
import { InvariantError } from '../core/invariant.js';
import type { Why } from '../core/run/why.js';
import { newRunId, newWorkflowId } from '../core/values/id.js';
import type { Payload } from '../core/values/json.js';
import type {
  Backup,
  CostReport,
  Engine,
  HistoryPage,
  RunDescription,
  RunOutcome,
  RunPage,
  RunRef,
  RunSelector,
  SignalOptions,
  StartRequest,
  StoppedRun,
  WorkerDescription,
} from '../engine.js';

export type Ending = Pick<RunOutcome, 'status'> & Partial<RunOutcome>;

export function catalogOf(name: string, entries: (Partial<CatalogEntry> & { name: string })[]): Catalog {
  return {
    catalog: name,
    workflows: entries.map((entry) => ({
      entry: {
        description: null,
        path: `${entry.name}/workflow.ts`,
        inputSchema: null,
        outputSchema: null,
        aliases: [],
        steps: [],
        signals: [],
        queries: [],
        updates: [],
        ...entry,
      },
      settings: {},
      declaresSignals: false,
      accepts: {
        input: {},
        signals: asPublished(entry.signals),
        queries: asPublished(entry.queries),
        updates: asPublished(entry.updates),
      },
    })),
  };
}

/** Their schemas are exact, as those of plain types are. */
const asPublished = (handlers: HandlerEntry[] = []) =>
  Object.fromEntries(handlers.map(({ name }) => [name, {}]));

const GREETING_INPUT: JsonSchema = {
  type: 'object',
  properties: { name: { type: 'string', minLength: 1 }, tags: { type: 'array', items: { type: 'string' } } },
  required: ['name'],
};

interface ScriptedRun extends RunRef {
  request: StartRequest;
  startedAt: number;
  ending: Ending | undefined;
  /** What ends each wait, and whether a hang-up would. */
  waiting: Map<() => void, { isAbortable: boolean }>;
}

export class ScriptedEngine implements Engine {
  readonly starts: StartRequest[] = [];
  readonly signals: ({ name: string; input: Payload[] } & SignalOptions)[] = [];
  /** What tokens of callbacks are signed with. */
  key: string | undefined = 'the key of this engine';
  readonly catalogs = new Map<string, Catalog>([
    [
      'default',
      catalogOf('default', [
        { name: 'echo', aliases: ['repeat_after_me'] },
        { name: 'wait' },
        { name: 'greeting', inputSchema: GREETING_INPUT },
      ]),
    ],
  ]);
  unavailable: Error | undefined;
  private readonly runs: ScriptedRun[] = [];
  private readonly keys = new Map<string, { fingerprint: string; run: ScriptedRun }>();

  async backup(): Promise<Backup> {
    throw new PerdureError('NotSupportedByEngineError', 'there is nothing to copy');
  }

  async ready(): Promise<void> {
    if (this.unavailable) throw this.unavailable;
  }

  async start(request: StartRequest): Promise<RunRef> {
    if (this.unavailable) throw this.unavailable;
    const known = request.idempotency && this.keys.get(request.idempotency.key);
    if (known) {
      if (known.fingerprint !== request.idempotency!.fingerprint) {
        throw new PerdureError('IdempotencyConflictError', 'the key stands for another body');
      }
      return ref(known.run);
    }
    const workflowId = request.workflowId ?? newWorkflowId(request.workflowType);
    if (this.runs.some((run) => run.workflowId === workflowId)) {
      throw new PerdureError('WorkflowAlreadyExistsError', 'the id is taken', { workflowId });
    }
    const startedAt = Date.now();
    const run: ScriptedRun = {
      workflowId,
      runId: newRunId(startedAt),
      request,
      startedAt,
      ending:
        request.workflowType === 'wait' ? undefined : { status: 'completed', output: request.input[0]! },
      waiting: new Map(),
    };
    this.starts.push(request);
    this.runs.push(run);
    if (request.idempotency) this.keys.set(request.idempotency.key, { ...request.idempotency, run });
    return ref(run);
  }

  /** Ends an open run. */
  end(workflowId: string, ending: Ending): void {
    const run = this.find({ workflowId });
    run.ending = ending;
    for (const release of run.waiting.keys()) release();
  }

  /** How many calls wait for the run. */
  waitingFor(workflowId: string): number {
    return this.find({ workflowId }).waiting.size;
  }

  /** How many of them end when the caller hangs up. */
  abortableFor(workflowId: string): number {
    return [...this.find({ workflowId }).waiting.values()].filter(({ isAbortable }) => isAbortable).length;
  }

  async describe(selector: RunSelector): Promise<RunDescription> {
    const run = this.find(selector);
    return {
      ...ref(run),
      workflowType: run.request.workflowType,
      catalog: run.request.catalog,
      status: run.ending?.status ?? 'running',
      startedAt: run.startedAt,
      completedAt: run.ending ? run.startedAt : null,
      historyLength: 3,
      input: run.request.input[0],
      firstRunId: run.runId,
    };
  }

  async outcome(
    selector: RunSelector,
    options: { waitMs?: number; followChain?: boolean; abort?: Abort } = {},
  ): Promise<RunOutcome | undefined> {
    const run = this.find(selector);
    const { waitMs = 0, abort } = options;
    if (!run.ending && waitMs > 0 && !abort?.aborted) {
      await new Promise<void>((resolve) => {
        const release = () => {
          clearTimeout(timer);
          run.waiting.delete(release);
          resolve();
        };
        const timer = setTimeout(release, waitMs);
        run.waiting.set(release, { isAbortable: abort !== undefined });
        abort?.addEventListener('abort', release);
      });
    }
    if (!run.ending) return undefined;
    return {
      ...ref(run),
      input: run.request.input[0],
      output: undefined,
      failure: undefined,
      format: 'current',
      trace: null,
      ...run.ending,
    };
  }

  async catalogNames(): Promise<string[]> {
    return [...this.catalogs.keys()];
  }

  async workers(): Promise<WorkerDescription[]> {
    return [];
  }

  async catalog(name: string): Promise<Catalog | undefined> {
    return this.catalogs.get(name);
  }

  async close(): Promise<void> {}

  recordTrace(): Promise<void> {
    return notScripted('recordTrace');
  }

  history(): Promise<HistoryPage> {
    return notScripted('history');
  }
  async signal(
    selector: RunSelector,
    name: string,
    input: Payload[],
    options: SignalOptions = {},
  ): Promise<RunRef> {
    const run = ref(this.find(selector));
    this.signals.push({ name, input, ...options });
    return run;
  }
  query(): Promise<undefined> {
    return notScripted('query');
  }
  update(): Promise<undefined> {
    return notScripted('update');
  }
  async callbackKey(): Promise<string | undefined> {
    return this.key;
  }
  cancel(): Promise<StoppedRun> {
    return notScripted('cancel');
  }
  pause(): Promise<RunRef> {
    return notScripted('pause');
  }
  resume(): Promise<RunRef> {
    return notScripted('resume');
  }
  why(): Promise<Why> {
    return notScripted('why');
  }
  terminate(): Promise<RunRef> {
    return notScripted('terminate');
  }
  reset(): Promise<RunRef> {
    return notScripted('reset');
  }
  cost(): Promise<CostReport> {
    return notScripted('cost');
  }
  setBudget(): Promise<never> {
    return notScripted('setBudget');
  }
  list(): Promise<RunPage> {
    return notScripted('list');
  }

  private find({ workflowId, runId }: RunSelector): ScriptedRun {
    const run = this.runs.findLast(
      (each) => each.workflowId === workflowId && (runId === undefined || each.runId === runId),
    );
    if (!run) throw new PerdureError('WorkflowNotFoundError', 'no such run', { workflowId });
    return run;
  }
}

function ref({ workflowId, runId }: RunRef): RunRef {
  return { workflowId, runId };
}

function notScripted(method: string): Promise<never> {
  return Promise.reject(new InvariantError(`the scripted engine has no ${method}`));
}
