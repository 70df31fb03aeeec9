/** What callers make of an open run from outside: signals, pausing, stopping. */

import { declaredSignals, variantsOf } from '../../core/catalog.js';
import { PerdureError } from '../../core/errors.js';
import { faultPoint } from '../../core/fault-point.js';
import { goesOnAsAnother, isOwnSignal } from '../../core/run/callback.js';
import { isPauseSignal, isStopping, type PausedBy, pausedByCall } from '../../core/run/pause.js';
import type { Payload } from '../../core/values/json.js';
import type { PauseRequest, RunRef, RunSelector, SignalOptions, StoppedRun } from '../../engine.js';
import type { Kernel } from '../kernel.js';
import type { Lifecycle } from '../life/lifecycle.js';
import type { ActiveRun } from '../store/active-run.js';
import type { Catalogs } from '../store/catalogs.js';
import type { Guard } from './guard.js';

export class Controlling {
  constructor(
    private readonly kernel: Kernel,
    private readonly guard: Guard,
    private readonly lifecycle: Lifecycle,
    private readonly catalogs: Catalogs,
  ) {}

  async signal(
    selector: RunSelector,
    name: string,
    input: Payload[],
    { requestId, traceContext, madeFor }: SignalOptions,
  ): Promise<RunRef> {
    this.guard.requireSpace();
    const run = this.guard.openRun(selector, `signal "${name}"`);
    const { workflowId, runId, started } = run.state;
    if (madeFor !== undefined && madeFor !== runId) {
      const origin = this.kernel.runs.originOf(madeFor);
      if (origin !== undefined && origin !== started.originalExecutionRunId) {
        throw this.guard.refusal(run, goesOnAsAnother({ workflowId, runId: madeFor }, runId));
      }
    }
    if (isPauseSignal(name)) throw pausedByCall({ workflowId, runId });
    this.#requireDeclared(run, name);
    this.lifecycle.signal(run, {
      signalName: name,
      input,
      ...(requestId !== undefined && { requestId }),
      ...(traceContext && { traceContext }),
    });
    faultPoint('signal');
    return this.guard.durable({ workflowId, runId });
  }

  /** Where the definition declares its signals, no other is taken. @throws HandlerNotFoundError */
  #requireDeclared({ state }: ActiveRun, name: string): void {
    const { catalog, workflowType } = state.started;
    const names = declaredSignals(variantsOf(this.catalogs.get(catalog), workflowType));
    if (names === undefined || names.includes(name) || isOwnSignal(name)) return;
    throw new PerdureError(
      'HandlerNotFoundError',
      `workflow ${workflowType} has no signal "${name}"; it declares ${names.join(', ') || 'none'}`,
      { workflowId: state.workflowId, runId: state.runId },
    );
  }

  async pause(selector: RunSelector, request: PauseRequest): Promise<RunRef> {
    const run = this.guard.openRun(selector, 'a pause');
    const ref = refOf(run);
    if (this.lifecycle.isAskedToStop(run)) throw this.guard.refusal(run, isStopping(ref));
    this.lifecycle.pause(run, request);
    faultPoint('pause');
    return this.guard.durable(ref);
  }

  async resume(selector: RunSelector, onlyBy: PausedBy | undefined): Promise<RunRef> {
    const run = this.guard.openRun(selector, 'the request to resume');
    this.lifecycle.resume(run, onlyBy);
    faultPoint('resume');
    return this.guard.durable(refOf(run));
  }

  async cancel(selector: RunSelector): Promise<StoppedRun> {
    const run = this.kernel.runs.select(selector);
    const { status } = run.state;
    if (!run.isClosed) {
      this.lifecycle.cancel(run, 'requested by a caller');
      faultPoint('stop');
    }
    // Also what says that it is closed may still be on its way to disk.
    return this.guard.durable({ ...refOf(run), status });
  }

  async terminate(selector: RunSelector, reason: string): Promise<RunRef> {
    const run = this.guard.openRun(selector, 'the request to terminate');
    this.lifecycle.endFromOutside(run, { type: 'WORKFLOW_EXECUTION_TERMINATED', attributes: { reason } });
    faultPoint('terminate');
    return this.guard.durable(refOf(run));
  }
}

const refOf = ({ state: { workflowId, runId } }: ActiveRun): RunRef => ({ workflowId, runId });
