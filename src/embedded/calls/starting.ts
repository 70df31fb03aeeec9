/** A start: one run for an idempotency key, one for a workflow id. */
import { PerdureError } from '../../core/errors.js';
import { faultPoint } from '../../core/fault-point.js';
import type { RunRef, StartRequest } from '../../engine.js';
import type { Kernel } from '../kernel.js';
import type { Lifecycle } from '../life/lifecycle.js';
import type { Purses } from '../life/purses.js';
import type { ActiveRun } from '../store/active-run.js';
import type { Guard } from './guard.js';

type Idempotency = NonNullable<StartRequest['idempotency']>;

interface KnownKey {
  fingerprint: string;
  ref: RunRef;
}

export class Starting {
  /** Idempotency keys whose run is not on disk yet. */
  readonly #keysUnderWay = new Map<string, KnownKey>();

  constructor(
    private readonly kernel: Kernel,
    private readonly guard: Guard,
    private readonly lifecycle: Lifecycle,
    private readonly purses: Purses,
  ) {}

  start(request: StartRequest): RunRef | Promise<RunRef> {
    const { workflowType, catalog, input, idempotency, traceContext, budget } = request;
    const known = idempotency && this.#startedWith(idempotency);
    if (known) return this.guard.durable(known);
    this.guard.requireSpace();
    const { workflowId = this.kernel.ids.newWorkflowId(workflowType) } = request;
    if (request.workflowId !== undefined) this.#requireFree(workflowId);
    const begin = () =>
      this.lifecycle.start(
        { workflowId, workflowType, catalog, input },
        { ...(traceContext && { traceContext }), ...(budget && { budget }) },
      );
    const run = request.isAwaited ? this.kernel.commit.keepBack(begin) : begin();
    const ref = { workflowId, runId: run.state.runId };
    if (budget) this.purses.open(run, budget);
    if (idempotency) this.#remember(idempotency, run, ref);
    faultPoint('start');
    if (request.isAwaited) return ref;
    return this.guard.durable(ref);
  }

  /** The run that the key has made already. @throws IdempotencyConflictError */
  #startedWith({ key, fingerprint }: Idempotency): RunRef | undefined {
    const known = this.#keysUnderWay.get(key) ?? this.#storedKey(key);
    if (!known) return undefined;
    if (known.fingerprint === fingerprint) return known.ref;
    const { workflowId, runId } = known.ref;
    const message = 'the Idempotency-Key was used with another body';
    throw this.guard.refusal(
      this.kernel.runs.inMemory(runId),
      new PerdureError('IdempotencyConflictError', message, { workflowId }),
    );
  }

  #storedKey(key: string): KnownKey | undefined {
    const stored = this.kernel.tables.startedWith(key);
    if (!stored) return undefined;
    const { fingerprint, workflowId, runId } = stored;
    return { fingerprint, ref: { workflowId, runId } };
  }

  #remember({ key, fingerprint }: Idempotency, run: ActiveRun, ref: RunRef): void {
    this.#keysUnderWay.set(key, { fingerprint, ref });
    this.kernel.commit.include(run);
    this.kernel.commit.write(() => this.kernel.tables.idempotency.save(key, fingerprint, run.key), run);
    this.kernel.commit.afterCommit(() => this.#keysUnderWay.delete(key));
  }

  /** @throws WorkflowAlreadyExistsError */
  #requireFree(workflowId: string): void {
    if (!this.kernel.runs.isTaken(workflowId)) return;
    const runId = this.kernel.runs.latestId(workflowId);
    const message = `the workflow id "${workflowId}" is taken by run ${runId}; ids are unique among open and retained runs`;
    throw this.guard.refusal(
      this.kernel.runs.latestInMemory(workflowId),
      new PerdureError('WorkflowAlreadyExistsError', message, { workflowId, runId }),
    );
  }
}
