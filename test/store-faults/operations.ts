/**
 * The ledger of what callers have asked for, and whether they know what became of it.
 *
 * 1. What was acknowledged is stored, once (I1).
 * 2. What nobody knows is stored once or not at all (I2). `settle` looks which, as a caller would in the history, so that
 *    only what did not arrive is asked for again.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Payload } from '../../src/core/values/json.js';
import type { RunRef } from '../../src/engine.js';
import { brokenRules } from '../contract/invariants.js';
import { ownEvents, type Stored } from './stored.js';

export type OperationKind = 'start' | 'signal' | 'update' | 'cancel' | 'terminate' | 'reset';

/** What a look found of an operation. */
export interface Trace {
  ref: RunRef;
  updateId?: string;
}

export class Operation {
  state: 'sent' | 'acknowledged' | 'refused' | 'absent' = 'sent';
  /** Where it was seen, when only a look has told that it arrived. */
  found: Trace | undefined;
  /** What its caller was told. */
  ref: RunRef | undefined;
  /** A request to stop: its caller was told that there was nothing left to stop. */
  foundClosed = false;

  constructor(
    readonly kind: OperationKind,
    readonly workflowId: string,
    readonly name = '',
    readonly input: Payload[] = [],
  ) {}

  isLike(other: Operation): boolean {
    return this.name === other.name && isDeepStrictEqual(this.input, other.input);
  }
}

/** Kinds that leave one trace for each time they were asked for. */
const COUNTED: ReadonlySet<OperationKind> = new Set<OperationKind>(['signal', 'update', 'reset']);

export class Operations {
  readonly #byWorkflowId = new Map<string, Operation[]>();
  readonly #starts: Operation[] = [];
  readonly #late: string[] = [];

  /** As all of it is known at this moment. */
  asOfNow(): Operations {
    const copy = new Operations();
    for (const operation of [...this.#starts, ...[...this.#byWorkflowId.values()].flat()]) {
      copy.sent(Object.assign(Object.create(Operation.prototype) as Operation, operation));
    }
    return copy;
  }

  sent(operation: Operation): Operation {
    if (operation.kind === 'start') this.#starts.push(operation);
    else {
      const known = this.#byWorkflowId.get(operation.workflowId);
      if (known) known.push(operation);
      else this.#byWorkflowId.set(operation.workflowId, [operation]);
    }
    return operation;
  }

  /** Its engine had stopped by then (I19). */
  acknowledgedTooLate({ kind, workflowId }: Operation): void {
    this.#late.push(`a ${kind} of ${workflowId} was acknowledged by an engine that has stopped`);
  }

  get acknowledged(): number {
    return [...this.#starts, ...[...this.#byWorkflowId.values()].flat()].filter(
      ({ state }) => state === 'acknowledged',
    ).length;
  }

  /** The engine is gone: finds out about what is still unclear. Answers with what must not be. */
  settle(stored: Stored): string[] {
    const problems: string[] = [];
    for (const [workflowId, operations] of this.#byWorkflowId) {
      if (!operations.some(({ kind, state }) => state === 'sent' && COUNTED.has(kind))) continue;
      problems.push(...this.#compare(stored, workflowId, operations, true));
    }
    return problems;
  }

  /** What of all that was acknowledged is not there, or there more often than it was asked for. */
  problems(stored: Stored): string[] {
    const problems = [...this.#late];
    for (const [workflowId, operations] of this.#byWorkflowId) {
      problems.push(...this.#compare(stored, workflowId, operations, false));
      for (const operation of operations) problems.push(...missingEnd(stored, operation));
    }
    for (const { ref, state } of this.#starts) {
      if (state !== 'acknowledged' || !ref) continue;
      const isThere = stored.runsOf(ref.workflowId).some(({ row }) => row.run_id === ref.runId);
      if (!isThere)
        problems.push(`the start of ${ref.workflowId} (${ref.runId}) was acknowledged and is gone`);
    }
    const least = new Set(this.#starts.filter(isAcknowledged).map(({ ref }) => ref?.runId)).size;
    const most = least + this.#starts.filter(({ state }) => state === 'sent').length;
    const runs = stored.startedFromOutside();
    if (runs < least || runs > most)
      problems.push(`${runs} runs were started from outside and not ${least} to ${most}`);
    return problems;
  }

  #compare(stored: Stored, workflowId: string, operations: Operation[], settles: boolean): string[] {
    const problems: string[] = [];
    const left = new Set(operations.filter(({ kind, state }) => COUNTED.has(kind) && state !== 'refused'));
    for (const first of left) {
      const alike = [...left].filter((each) => each.kind === first.kind && each.isLike(first));
      for (const each of alike) left.delete(each);
      const traces = tracesOf(stored, first);
      const known = alike.filter(isAcknowledged).length;
      const unclear = alike.filter(({ state }) => state === 'sent');
      const extra = traces.length - known;
      if (extra < 0 || extra > unclear.length) {
        const what = `${first.kind} "${first.name}" ${first.input} of ${workflowId}`;
        problems.push(
          `${what} is there ${traces.length} times; ${known} were acknowledged and ${unclear.length} are unclear`,
        );
      }
      if (!settles) continue;
      // Those that look the same are the same to their callers: the last that came are theirs.
      const arrived = extra > 0 ? traces.slice(-extra) : [];
      for (const operation of unclear) {
        operation.found = arrived.shift();
        operation.state = operation.found ? 'acknowledged' : 'absent';
      }
    }
    return problems;
  }
}

/** What holds in every data folder: the rules of histories (I3, I6, I8, I10), and one open run for an id (I9). */
export function brokenInvariants(stored: Stored): string[] {
  const broken: string[] = [];
  const open = new Set<string>();
  for (const { row, events } of stored.runs()) {
    const { workflow_id: workflowId, run_id: runId } = row;
    for (const rule of brokenRules(events)) broken.push(`${workflowId} (${runId}): ${rule}`);
    if (row.closed_at !== null) continue;
    if (open.has(workflowId)) broken.push(`${workflowId} has two open runs`);
    open.add(workflowId);
  }
  return broken;
}

const isAcknowledged = ({ state }: Operation): boolean => state === 'acknowledged';

/** Everything stored that may be what the operation, or one like it, has left. */
function tracesOf(stored: Stored, { kind, workflowId, name, input }: Operation): Trace[] {
  const traces: Trace[] = [];
  for (const run of stored.runsOf(workflowId)) {
    const ref = { workflowId, runId: run.row.run_id };
    if (kind === 'reset') {
      const isReset = run.events.some(
        (event) => event.type === 'WORKFLOW_TASK_FAILED' && event.attributes.newRunId === ref.runId,
      );
      if (isReset) traces.push({ ref });
      continue;
    }
    for (const event of ownEvents(run)) {
      if (kind === 'signal' && event.type === 'WORKFLOW_EXECUTION_SIGNALED') {
        const { signalName, input: given, externalWorkflowExecution: sender } = event.attributes;
        if (!sender && signalName === name && isDeepStrictEqual(given, input)) traces.push({ ref });
      } else if (kind === 'update' && event.type === 'WORKFLOW_EXECUTION_UPDATE_ACCEPTED') {
        const { updateId, updateName, input: given } = event.attributes;
        if (updateName === name && isDeepStrictEqual(given, input)) traces.push({ ref, updateId });
      }
    }
  }
  return traces;
}

/** A request to stop, and an end by force, are there however often they were asked for. */
function missingEnd(stored: Stored, { kind, workflowId, state, ref, foundClosed }: Operation): string[] {
  if (state !== 'acknowledged' || !ref || (kind !== 'cancel' && kind !== 'terminate')) return [];
  const run = stored.runsOf(workflowId).find(({ row }) => row.run_id === ref.runId);
  if (!run) return [`${workflowId} took a ${kind} and is gone`];
  if (foundClosed) {
    return run.row.closed_at === null
      ? [`${workflowId} (${ref.runId}) was said to be closed and is not`]
      : [];
  }
  const type = kind === 'cancel' ? 'WORKFLOW_EXECUTION_CANCEL_REQUESTED' : 'WORKFLOW_EXECUTION_TERMINATED';
  const isThere = [...run.events, ...run.waiting].some((event) => event.type === type);
  return isThere ? [] : [`${workflowId} (${ref.runId}) took a ${kind} and does not have it`];
}
