/**
 * What runs came to: their last events, waited for where that is asked, and over the runs of a chain.
 */
import { failureOfClose } from '../core/close-failure.js';
import type { HistoryEvent } from '../core/event.js';
import { invariant } from '../core/invariant.js';
import type { Payload } from '../core/json.js';
import { type ResultFormat, STATUS_OF_CLOSE_EVENT } from '../core/run.js';
import type { OutcomeOptions, RunOutcome, RunRef, RunSelector, TraceInfo } from '../engine.js';
import { type Close, CloseWatch } from './close-watch.js';
import type { Cluster } from './connection.js';
import { CURRENT_PAYLOAD_VERSION, MEMO } from './conventions.js';
import type { KnownRun, Runs } from './runs.js';
import { Shared } from './shared.js';
import { traceOfFailure } from './translate/failure.js';
import { decoded } from './translate/payload.js';

interface Known {
  outcome: RunOutcome;
  run: KnownRun;
}

export class Outcomes {
  readonly #closes: CloseWatch;
  readonly #outcomes = new Shared<Known>();

  constructor(
    cluster: Cluster,
    private readonly runs: Runs,
  ) {
    this.#closes = new CloseWatch(cluster, runs);
  }

  async outcome(selector: RunSelector, options: OutcomeOptions): Promise<Known | undefined> {
    const { waitMs = 0, abort, followChain = selector.runId === undefined } = options;
    const { workflowId } = selector;
    const until = Date.now() + waitMs;
    // Where no run is named, the latest is the last of its chain, or leads to it.
    let runId = selector.runId ?? (await this.runs.look(selector)).runId;
    for (;;) {
      const run = { workflowId, runId };
      const close = await this.#closes.wait(run, until - Date.now(), abort);
      if (!close) return undefined;
      const next = followChain ? successorOf(close.event) : undefined;
      if (next === undefined) {
        return this.#outcomes.get(`${runId}/${followChain}`, () => this.#outcomeOf(run, close, followChain));
      }
      runId = next;
    }
  }

  async #outcomeOf(run: RunRef, close: Close, ofChain: boolean): Promise<Known> {
    const [known, { attributes }] = await Promise.all([this.runs.look(run), this.runs.firstEvent(run)]);
    const format = formatOf(known);
    const first = attributes.firstExecutionRunId;
    const input =
      ofChain && first !== run.runId
        ? await this.#inputOf({ ...run, runId: first }, attributes.input[0])
        : attributes.input[0];
    const status = STATUS_OF_CLOSE_EVENT[close.event.type];
    invariant(status, `run ${run.runId} is closed but its last event is ${close.event.type}`);
    const { output, trace } = resultOf(close, format);
    const outcome = {
      ...run,
      status,
      input,
      output,
      failure: failureOfClose(close.event),
      format,
      trace: traceOf(decoded(known.memo[MEMO.trace])) ?? trace ?? null,
    };
    return { outcome, run: known };
  }

  /** The first run of a chain may have left retention. */
  async #inputOf(first: RunRef, otherwise: Payload | undefined): Promise<Payload | undefined> {
    try {
      return (await this.runs.firstEvent(first)).attributes.input[0];
    } catch {
      return otherwise;
    }
  }
}

function formatOf({ memo }: KnownRun): ResultFormat {
  return decoded(memo[MEMO.payloadVersion]) === CURRENT_PAYLOAD_VERSION ? 'current' : 'legacy';
}

/** The run that a closing event leads to by itself. */
function successorOf(close: HistoryEvent): string | undefined {
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
