/**
 * The oracle's ledger: every operation that was sent, and what its caller knows of it.
 *
 * 1. An acknowledged operation is on disk exactly once from then on, whatever happens to the process.
 * 2. One of which the caller does not know (no answer, a 5xx) is there once or not at all.
 * 3. One that was refused, or never sent, is not there.
 *
 * Instants are by the monotonic clock of the machine, which all its processes share: what a shim in the server writes
 * down can be held against them.
 */
export type Kind = 'start' | 'signal' | 'update' | Meddling | 'resume';

/** What is done to a run that did not ask for it; whoever pauses it resumes it. */
export type Meddling = 'stop' | 'terminate' | 'reset' | 'pause' | 'budget';

/** After these a run may come to another end than its own. */
export const ENDINGS: readonly Kind[] = ['stop', 'terminate', 'reset'];

export type Outcome = 'underWay' | 'acknowledged' | 'unclear' | 'refused' | 'unsent';

export interface Operation {
  /** Found again on disk by it: the value of a message, the id or the key of a start, the reason of an end, an amount. */
  id: string;
  kind: Kind;
  workflowId: string;
  /** Whose operations come one after the other. */
  sender: string;
  sentAt: number;
  endedAt: number;
  outcome: Outcome;
  answer?: unknown;
  /** Of a start: what it asked for, to send it again with the same key. */
  body?: unknown;
}

export const monotonicMs = (): number => {
  const [seconds, nanos] = process.hrtime();
  return seconds * 1_000 + nanos / 1e6;
};

export class Operations {
  readonly #all: Operation[] = [];
  readonly #byWorkflow = new Map<string, Operation[]>();

  begin(of: Pick<Operation, 'id' | 'kind' | 'workflowId' | 'sender' | 'body'>): Operation {
    const operation: Operation = { ...of, sentAt: monotonicMs(), endedAt: Infinity, outcome: 'underWay' };
    this.#add(operation);
    return operation;
  }

  #add(operation: Operation): void {
    this.#all.push(operation);
    const { workflowId } = operation;
    const known = this.#byWorkflow.get(workflowId);
    if (known) known.push(operation);
    else this.#byWorkflow.set(workflowId, [operation]);
  }

  get all(): readonly Operation[] {
    return this.#all;
  }

  count(outcome: Outcome): number {
    return this.#all.reduce((sum, each) => sum + (each.outcome === outcome ? 1 : 0), 0);
  }

  of(workflowId: string): readonly Operation[] {
    return this.#byWorkflow.get(workflowId) ?? [];
  }

  /** What was known at an instant: later answers had not come, later operations were not sent. */
  asOf(instant: number): Operations {
    const then = new Operations();
    for (const each of this.#all) {
      if (each.endedAt < instant) then.#add(each);
      else if (each.sentAt < instant) then.#add({ ...each, outcome: 'unclear', endedAt: Infinity });
    }
    return then;
  }
}
