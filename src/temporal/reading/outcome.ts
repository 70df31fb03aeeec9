/**
 * What runs came to: their last events, waited for where that is asked, and over the runs of a chain.
 */
import { PerdureError } from '../../core/errors.js';
import { failureOfClose } from '../../core/history/close-failure.js';
import type { HistoryEvent } from '../../core/history/event.js';
import type { Failure } from '../../core/history/failure.js';
import { invariant } from '../../core/invariant.js';
import { type ResultFormat, STATUS_OF_CLOSE_EVENT } from '../../core/run/run.js';
import type { Payload } from '../../core/values/json.js';
import type { OutcomeOptions, RunOutcome, RunRef, RunSelector, TraceInfo } from '../../engine.js';
import type { Cluster } from '../cluster/connection.js';
import { CURRENT_PAYLOAD_VERSION, MEMO } from '../cluster/conventions.js';
import { Shared } from '../cluster/shared.js';
import type { StartedRuns } from '../cluster/started.js';
import { failureOfRun, traceOfFailure } from '../translate/failure.js';
import { decoded } from '../translate/payload.js';
import { type Close, CloseWatch } from './close-watch.js';
import type { KnownRun, Runs } from './runs.js';

interface Known {
  outcome: RunOutcome;
  run: RunRef & { workflowType: string; catalog: string };
}

/** What an outcome tells beside how the run has closed. */
interface Beginning {
  workflowType: string;
  catalog: string;
  input: Payload | undefined;
  format: ResultFormat;
  /** As the memo says. */
  trace: TraceInfo | undefined;
}

export class Outcomes {
  readonly #closes: CloseWatch;
  readonly #outcomes = new Shared<Known>();

  constructor(
    cluster: Cluster,
    private readonly runs: Runs,
    private readonly started: StartedRuns,
  ) {
    this.#closes = new CloseWatch(cluster, runs);
  }

  async outcome(selector: RunSelector, options: OutcomeOptions): Promise<Known | undefined> {
    const { followChain = selector.runId === undefined } = options;
    const last = await this.lastClose(selector, { ...options, followChain });
    if (!last) return undefined;
    const { run, close } = last;
    return this.#outcomes.get(`${run.runId}/${followChain}`, () => this.#outcomeOf(run, close, followChain));
  }

  /** The event that closed the run, or the last run of its chain; undefined while that is open. */
  async lastClose(
    selector: RunSelector,
    { waitMs = 0, abort, followChain }: OutcomeOptions,
  ): Promise<{ run: RunRef; close: Close } | undefined> {
    const { workflowId } = selector;
    const until = performance.now() + waitMs;
    // Where no run is named, the latest is the last of its chain, or leads to it.
    let runId = selector.runId ?? (await this.runs.look(selector)).runId;
    for (;;) {
      const run = { workflowId, runId };
      const close = await this.#closes.wait(run, until - performance.now(), abort);
      if (!close) return undefined;
      const next = followChain ? successorOf(close.event) : undefined;
      if (next === undefined) return { run, close };
      runId = next;
    }
  }

  async #outcomeOf(run: RunRef, close: Close, ofChain: boolean): Promise<Known> {
    const { workflowType, catalog, input, format, trace } = await this.#beginningOf(run, ofChain);
    const status = STATUS_OF_CLOSE_EVENT[close.event.type];
    invariant(status, `run ${run.runId} is closed but its last event is ${close.event.type}`);
    const result = resultOf(close, format);
    const outcome = {
      ...run,
      status,
      input,
      output: result.output,
      failure: failureOf(close),
      format,
      trace: trace ?? result.trace ?? null,
    };
    return { outcome, run: { ...run, workflowType, catalog } };
  }

  async #beginningOf(run: RunRef, ofChain: boolean): Promise<Beginning> {
    const started = this.started.get(run.runId);
    // It is the first of its chain.
    if (started) return { ...started, format: 'current', trace: undefined };
    const [known, { attributes }] = await Promise.all([this.runs.look(run), this.runs.firstEvent(run)]);
    const { workflowType, catalog, memo } = known;
    const first = attributes.firstExecutionRunId;
    const input =
      ofChain && first !== run.runId
        ? await this.#inputOf({ ...run, runId: first }, attributes.input[0])
        : attributes.input[0];
    return {
      workflowType,
      catalog,
      input,
      format: formatOf(known),
      trace: traceOf(decoded(memo[MEMO.trace])),
    };
  }

  /** The first run of a chain may have left retention. */
  async #inputOf(first: RunRef, otherwise: Payload | undefined): Promise<Payload | undefined> {
    try {
      return (await this.runs.firstEvent(first)).attributes.input[0];
    } catch (error) {
      if (error instanceof PerdureError && error.name === 'WorkflowNotFoundError') return otherwise;
      throw error;
    }
  }
}

function formatOf({ memo }: KnownRun): ResultFormat {
  return decoded(memo[MEMO.payloadVersion]) === CURRENT_PAYLOAD_VERSION ? 'current' : 'legacy';
}

function failureOf({ event, proto }: Close): Failure | undefined {
  const failed = proto.workflowExecutionFailedEventAttributes?.failure;
  return failed ? failureOfRun(failed) : failureOfClose(event);
}

/** The run that a closing event leads to by itself. */
export function successorOf(close: HistoryEvent): string | undefined {
  switch (close.type) {
    case 'WORKFLOW_EXECUTION_CONTINUED_AS_NEW':
    case 'WORKFLOW_EXECUTION_FAILED':
    case 'WORKFLOW_EXECUTION_TIMED_OUT':
      return close.attributes.newExecutionRunId;
    default:
      return undefined;
  }
}

/** A run of the older form returns `{ output, trace }`, and says where its trace is when it fails. */
function resultOf({ event, proto }: Close, format: ResultFormat): { output?: Payload; trace?: TraceInfo } {
  const result = event.type === 'WORKFLOW_EXECUTION_COMPLETED' ? event.attributes.result : undefined;
  if (format === 'current') return { output: result };
  const failed = proto.workflowExecutionFailedEventAttributes?.failure;
  if (failed) return { trace: traceOf(traceOfFailure(failed)) };
  const returned: unknown = result === undefined ? undefined : JSON.parse(result);
  if (typeof returned !== 'object' || returned === null || !('output' in returned || 'trace' in returned)) {
    return { output: result };
  }
  const { output, trace } = returned as { output?: unknown; trace?: unknown };
  return { output: output === undefined ? undefined : JSON.stringify(output), trace: traceOf(trace) };
}

/** Also in the form that the older results show, under `destinations`. */
function traceOf(value: unknown): TraceInfo | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { destinations, local, remote } = value as Record<string, unknown>;
  if (destinations !== undefined) return traceOf(destinations);
  const trace: TraceInfo = {};
  if (typeof local === 'string') trace.local = local;
  if (typeof remote === 'string') trace.remote = remote;
  return Object.keys(trace).length > 0 ? trace : undefined;
}
