/**
 * Those who call the engine, each one call after the other, all of them at once. What a call was answered is held against
 * what is on disk at that moment (I1): acknowledged is there, refused is not and never will be, unclear is there once or
 * not at all (I2).
 */
import { PerdureError } from '../../src/core/errors.js';
import { STATUS_OF_CLOSE_EVENT } from '../../src/core/run/run.js';
import type { EmbeddedEngine } from '../../src/embedded/index.js';
import type { ResetPoint, RunOutcome, RunRef } from '../../src/engine.js';
import type { Random } from '../../src/testing/random.js';
import type { Oracle } from './oracle.js';
import { Payers } from './payers.js';
import type { PlannedCall, PlannedStart } from './plan.js';
import type { Program } from './program.js';
import { type RunRecord, sendingOf, Violation } from './run-record.js';
import { inputOf, type MessageInput, workflowTypeOf } from './virtual-run.js';
import { CATALOG } from './virtual-worker.js';

export type Answer<T> =
  | { kind: 'ok'; value: T }
  | { kind: 'refused'; error: PerdureError }
  | { kind: 'unclear' };

export interface Service {
  /** Calls the engine, if there is one; a call that a kill interrupts is unclear. */
  call<T>(what: string, action: (engine: EmbeddedEngine) => Promise<T>): Promise<Answer<T>>;
  pause(ms: number): Promise<void>;
  readonly isCalm: boolean;
  readonly nowMs: number;
}

type CallOf<K extends PlannedCall['kind']> = Extract<PlannedCall, { kind: K }>;

/** From the decision to its commit: on a disk that is full for as long as a plan may say. */
const COMMIT_MS = 6_000;

/** Of a start that must be refused. */
const NOTHING: Program = { actions: [], failures: 0, onCancel: 'ignore' };

/** Tries after which a client that need not get through gives up. */
const TRIES = 3;

export class Clients {
  /** What each client does next. */
  readonly #queues = new Map<number, Promise<void>>();
  readonly #refs = new Map<number, RunRef>();
  readonly #outcomes = new Map<string, string>();
  readonly #refused = new Set<string>();
  /** Calls that were told that the run is closed, by its workflow id, and when. */
  readonly #toldClosed: { what: string; workflowId: string; atMs: number }[] = [];
  /** Sendings of signals by the run that they were acknowledged for. */
  readonly #acked = new Map<string, string[]>();
  readonly payers: Payers;
  #messages = 0;
  #resets = 0;
  underWay = 0;

  constructor(
    private readonly starts: readonly PlannedStart[],
    private readonly service: Service,
    private readonly oracle: Oracle,
    private readonly random: Random,
    private readonly failed: (error: unknown) => void,
  ) {
    this.payers = new Payers(service, oracle, random.of('payers'));
  }

  /** After all that the client was to do before. */
  enqueue(client: number, action: () => Promise<void>): void {
    this.underWay++;
    const before = this.#queues.get(client) ?? Promise.resolve();
    const after = before.then(action).catch((error: unknown) => this.failed(error));
    this.#queues.set(
      client,
      after.finally(() => this.underWay--),
    );
  }

  get unstarted(): number {
    return this.starts.length - this.#refs.size;
  }

  // ── starts ───────────────────────────────────────────────────────────────────────────────────────

  /** Until it is acknowledged. */
  async start(target: number): Promise<void> {
    for (;;) {
      const answer = await this.#startOnce(target, `body of ${target}`);
      if (answer.kind === 'ok') return;
      if (answer.kind === 'refused' && answer.error.name !== 'StorageFullError') {
        throw new Violation(`I2: the start of program ${target} is refused: ${answer.error.message}`);
      }
      await this.service.pause(this.random.int(50, 800));
    }
  }

  async #startOnce(target: number, fingerprint: string): Promise<Answer<RunRef>> {
    const { program, workflowId, isUnnamed, isAwaited, budget } = this.starts[target]!;
    const request = {
      workflowType: workflowTypeOf(program),
      catalog: CATALOG,
      input: inputOf(program),
      ...(!isUnnamed && { workflowId }),
      idempotency: { key: `key of ${target}`, fingerprint },
      isAwaited,
      budget,
    };
    let answer = await this.service.call(`start ${target}`, async (engine) => {
      // At the door nobody is let in before there is somebody whose settings it could have.
      if (!(await engine.catalog(CATALOG)))
        throw new PerdureError('EngineUnavailableError', 'no worker has registered yet');
      return engine.start(request);
    });
    if (answer.kind === 'ok' && isAwaited) {
      // Such a start is acknowledged with what follows from it.
      const ref = answer.value;
      const outcome = await this.#outcome({ ...ref }, this.random.pick([0, 1, 50]));
      answer = outcome.kind === 'ok' ? { kind: 'ok', value: ref } : outcome;
    }
    if (answer.kind !== 'ok') return answer;
    const ref = answer.value;
    const known = this.#refs.get(target);
    if (known && known.runId !== ref.runId) {
      throw new Violation(`I2: program ${target} was started as run ${known.runId} and as run ${ref.runId}`);
    }
    this.#requireRun(ref, `the start of program ${target}`);
    this.#refs.set(target, ref);
    return answer;
  }

  async #startAgain(target: number, how: CallOf<'startAgain'>['how']): Promise<void> {
    if (how === 'repeat') {
      const answer = await this.#startOnce(target, `body of ${target}`);
      if (answer.kind === 'refused' && answer.error.name !== 'StorageFullError') {
        throw new Violation(
          `I2: the repeated start of program ${target} is refused: ${answer.error.message}`,
        );
      }
      return;
    }
    const ref = this.#refs.get(target);
    // Another body under the key, or under the id, would else be the first that it stands for.
    if (!ref) return;
    if (how === 'otherBody') {
      const answer = await this.#startOnce(target, 'another body');
      if (answer.kind === 'ok') throw new Violation(`I2: the key of program ${target} takes another body`);
      return;
    }
    const { workflowId } = ref;
    const request = { workflowType: 'plain', catalog: CATALOG, input: inputOf(NOTHING), workflowId };
    const answer = await this.service.call(`start ${workflowId}`, (engine) => engine.start(request));
    if (answer.kind === 'ok') throw new Violation(`I9: "${workflowId}" is taken and was started again`);
  }

  // ── messages ─────────────────────────────────────────────────────────────────────────────────────

  async perform(call: PlannedCall): Promise<void> {
    const { target } = call;
    const workflowId = this.#refs.get(target)?.workflowId ?? this.starts[target]!.workflowId;
    switch (call.kind) {
      case 'signal':
        for (let left = call.count; left > 0; left--) await this.signal(workflowId, call.client);
        return;
      case 'update':
        return this.#update(workflowId, call);
      case 'query':
        return this.#query(workflowId, call.isUnknown);
      case 'cancel': {
        const answer = await this.service.call('cancel', (engine) => engine.cancel({ workflowId }));
        if (answer.kind !== 'ok') return;
        const record = this.#requireRun(answer.value, 'the request to stop');
        const { status } = answer.value;
        if (status !== 'running') {
          if (!record.closed || STATUS_OF_CLOSE_EVENT[record.closed.type] !== status)
            throw new Violation(`I1: run ${record.runId} is said to be ${status} and is not`);
          return;
        }
        if (!record.hasCancelRequest())
          throw new Violation(`I1: run ${record.runId} does not know that it was asked to stop`);
        return;
      }
      case 'terminate': {
        const reason = `termination ${++this.#messages}`;
        this.oracle.terminations.add(reason);
        const answer = await this.service.call('terminate', (engine) =>
          engine.terminate({ workflowId }, reason),
        );
        if (answer.kind !== 'ok') return;
        const { closed } = this.#requireRun(answer.value, 'the termination');
        const isThere =
          closed?.type === 'WORKFLOW_EXECUTION_TERMINATED' && closed.attributes.reason === reason;
        if (!isThere)
          throw new Violation(`I1: run ${answer.value.runId} is not terminated, which was acknowledged`);
        return;
      }
      case 'pause': {
        const answer = await this.service.call('pause', (engine) =>
          engine.pause({ workflowId }, { reason: 'planned', by: 'operator' }),
        );
        if (answer.kind !== 'ok') return;
        const record = this.#requireRun(answer.value, 'the pause');
        if (!record.hasPause()) throw new Violation(`I1: run ${record.runId} knows of no pause`);
        return;
      }
      case 'resume':
        return this.resume(workflowId);
      case 'why':
        return this.#why(workflowId);
      case 'cost':
        return this.payers.cost(workflowId, call.scope);
      case 'budget':
        return this.payers.setBudget({ workflowId }, call.amount);
      case 'reset': {
        const point: ResetPoint =
          call.action === 'start' ? { toStart: true } : { stepName: `s${call.action}` };
        const runs = [...this.oracle.runs.values()].filter(
          ({ started }) => started.workflowId === workflowId,
        );
        // Every other one goes back in the run before the latest, if there is one.
        const runId = this.#resets++ % 2 === 0 ? runs.at(-2)?.runId : undefined;
        const answer = await this.service.call('reset', (engine) =>
          engine.reset({ workflowId, runId }, point),
        );
        if (answer.kind !== 'ok') return;
        const made = this.#requireRun(answer.value, 'the reset');
        if (made.copiedUpTo === 0) throw new Violation(`I1: run ${made.runId} is no reset`);
        return;
      }
      case 'startAgain':
        return this.#startAgain(target, call.how);
      case 'outcome':
        await this.#outcome({ workflowId }, call.waitMs);
        return;
      case 'read':
        return this.#read(workflowId);
    }
  }

  async resume(workflowId: string): Promise<void> {
    const record = this.oracle.latest(workflowId);
    const pauses = record?.pauses;
    const answer = await this.service.call('resume', (engine) => engine.resume({ workflowId }));
    if (answer.kind !== 'ok') return;
    const resumed = this.#requireRun(answer.value, 'the request to resume');
    // Somebody else may have paused it again.
    if (resumed === record && resumed.isPaused() && resumed.pauses === pauses)
      throw new Violation(`I1: run ${resumed.runId} is resumed and is paused on disk`);
  }

  /** There is a reason for everything. */
  async #why(workflowId: string): Promise<void> {
    const answer = await this.service.call('why', (engine) => engine.why({ workflowId }));
    if (answer.kind !== 'ok') return;
    const { runId, status, summary, reasons } = answer.value;
    const isClosed = reasons.some(({ code }) => code === 'closed');
    if (reasons.length === 0 || summary === '' || isClosed !== (status !== 'running'))
      throw new Violation(`why: run ${runId} is ${status} for ${JSON.stringify(reasons)}`);
  }

  /** Sent again while it is unclear, so before the client's next one; what is acknowledged is on disk, in that order. */
  async signal(workflowId: string, client: number): Promise<void> {
    const id = `c${client}-${++this.#messages}`;
    for (let sending = 1; this.service.isCalm || sending <= TRIES; sending++) {
      const message: MessageInput = { id, sending };
      const input = [JSON.stringify(message)];
      const answer = await this.service.call(`signal ${id}`, (engine) =>
        engine.signal({ workflowId }, 'note', input),
      );
      if (answer.kind === 'ok') {
        const record = this.#requireRun(answer.value, `signal ${id}`);
        if (!record.hasSignal(sendingOf(message))) {
          throw new Violation(`I1: signal ${id} is acknowledged and not on disk in run ${record.runId}`);
        }
        const acked = this.#acked.get(record.runId);
        if (acked) acked.push(sendingOf(message));
        else this.#acked.set(record.runId, [sendingOf(message)]);
        return;
      }
      if (answer.kind === 'refused') {
        this.#refused.add(sendingOf(message));
        this.#isToldClosed(`signal ${id}`, workflowId, answer.error);
        if (answer.error.name === 'WorkflowAlreadyClosedError') return;
        // It may not be started yet.
        if (answer.error.name === 'WorkflowNotFoundError' && sending > TRIES) return;
      }
      await this.service.pause(this.random.int(20, 1_500));
    }
  }

  async #update(workflowId: string, { isBad, isSlow }: CallOf<'update'>): Promise<void> {
    const message: MessageInput = { id: `${isBad ? 'bad' : 'u'}${++this.#messages}`, sending: 1, isSlow };
    const sending = sendingOf(message);
    const answer = await this.service.call(`update ${message.id}`, (engine) =>
      engine.update({ workflowId }, 'add', [JSON.stringify(message)]),
    );
    if (answer.kind === 'unclear') return;
    const records = [...this.oracle.runs.values()].filter(({ started }) => started.workflowId === workflowId);
    if (answer.kind === 'ok') {
      const result = records
        .map(({ completedUpdates }) => completedUpdates.get(sending))
        .find((each) => each);
      if (result === undefined) throw new Violation(`I1: update ${message.id} is answered and not on disk`);
      if (result !== answer.value)
        throw new Violation(`I12: update ${message.id} is answered ${answer.value}, not ${result}`);
      if (isBad) throw new Violation(`I12: update ${message.id} completed, which its validator refuses`);
      return;
    }
    const { name } = answer.error;
    if (name === 'UpdateFailedError') return;
    this.#refused.add(sending);
    this.#isToldClosed(`update ${message.id}`, workflowId, answer.error);
    if (records.some(({ accepted }) => [...accepted.values()].includes(sending))) {
      throw new Violation(`I12: update ${message.id} is refused (${name}) and in the history`);
    }
  }

  #isToldClosed(what: string, workflowId: string, { name }: PerdureError): void {
    if (name !== 'WorkflowAlreadyClosedError') return;
    this.#toldClosed.push({ what, workflowId, atMs: this.service.nowMs });
  }

  async #query(workflowId: string, isUnknown: boolean): Promise<void> {
    const record = this.oracle.latest(workflowId);
    if (!record) return;
    const { runId } = record;
    const acked = [...(this.#acked.get(runId) ?? [])];
    const { pauses } = record;
    const wasPaused = record.isPaused();
    const answer = await this.service.call('query', (engine) =>
      engine.query({ workflowId, runId }, isUnknown ? 'unknown' : 'state', []),
    );
    if (answer.kind !== 'ok') return;
    if (isUnknown) throw new Violation(`I13: run ${runId} answers a query that it does not know`);
    // A run that was ended from outside has not seen what came last.
    if (record.closed) return;
    // What comes to a paused run waits until it is resumed.
    if (wasPaused || record.isPaused() || record.pauses !== pauses) return;
    const { signals } = JSON.parse(answer.value!) as { signals: string[] };
    const unseen = acked.filter((sending) => !signals.includes(sending.slice(0, sending.lastIndexOf('#'))));
    if (unseen.length > 0)
      throw new Violation(`I13: a query of run ${runId} does not see the signals ${unseen.join()}`);
  }

  async #outcome(
    selector: { workflowId: string; runId?: string },
    waitMs: number,
  ): Promise<Answer<RunOutcome | undefined>> {
    const answer = await this.service.call('outcome', (engine) => engine.outcome(selector, { waitMs }));
    if (answer.kind !== 'ok' || !answer.value) return answer;
    const { runId, status } = answer.value;
    const record = this.#requireRun(answer.value, 'the outcome');
    if (!record.closed) throw new Violation(`I1: run ${runId} is said to be ${status} and is open on disk`);
    const text = JSON.stringify({ ...answer.value, input: undefined });
    const known = this.#outcomes.get(runId) ?? text;
    if (known !== text) throw new Violation(`I14: the outcome of run ${runId} was ${known} and is ${text}`);
    this.#outcomes.set(runId, text);
    return answer;
  }

  async #read(workflowId: string): Promise<void> {
    const afterEventId = this.random.int(0, 6);
    const limit = this.random.pick([1, 5, 100]);
    const waitMs = this.random.pick([0, 0, 500]);
    const answer = await this.service.call('history', (engine) =>
      engine.history({ workflowId }, { afterEventId, limit, waitMs }),
    );
    if (answer.kind !== 'ok') return;
    const { runId, events } = answer.value;
    const texts = this.oracle.runs.get(runId)?.texts ?? [];
    const wrong = events.findIndex((event, at) => JSON.stringify(event) !== texts[afterEventId + at]);
    if (wrong >= 0)
      throw new Violation(
        `I3: event ${afterEventId + wrong + 1} of run ${runId} is served and is another one on disk`,
      );
  }

  #requireRun({ runId }: RunRef, what: string) {
    const record = this.oracle.runs.get(runId);
    if (!record) throw new Violation(`I1: ${what} is acknowledged for run ${runId}, which is not on disk`);
    return record;
  }

  // ── in the end ───────────────────────────────────────────────────────────────────────────────────

  /** Everything is over: what was acknowledged is there, what was refused is not, and nothing came twice. */
  check(): void {
    for (const record of this.oracle.runs.values()) {
      const missing = (this.#acked.get(record.runId) ?? []).filter((sending) => !record.hasSignal(sending));
      if (missing.length > 0)
        throw new Violation(`I1: run ${record.runId} has lost the signals ${missing.join()}`);
      for (const sending of [...record.signals, ...record.accepted.values()]) {
        if (this.#refused.has(sending))
          throw new Violation(`I2: ${sending} was refused and is in run ${record.runId}`);
      }
      this.#checkOrder(record.runId, record.signals);
    }
    for (const { what, workflowId, atMs } of this.#toldClosed) {
      const isOver = ({ started, closedAtMs, successor, closed }: RunRecord) =>
        started.workflowId === workflowId &&
        closedAtMs <= atMs + COMMIT_MS &&
        // What a reset has ended is over too, for as long as the reset is not made.
        (successor === undefined || closed!.type === 'WORKFLOW_EXECUTION_TERMINATED');
      if (![...this.oracle.runs.values()].some(isOver)) {
        throw new Violation(`I2: ${what} is refused since "${workflowId}" is closed, and it goes on`);
      }
    }
    const roots = [...this.oracle.runs.values()].filter(
      ({ started, copiedUpTo }) => !started.parent && !started.continuedExecutionRunId && copiedUpTo === 0,
    );
    if (roots.length !== this.starts.length) {
      throw new Violation(
        `I2: ${this.starts.length} programs were started and there are ${roots.length} first runs`,
      );
    }
  }

  /** Each client's signals are in the order in which it sent them. */
  #checkOrder(runId: string, sendings: readonly string[]): void {
    const last = new Map<string, number>();
    for (const sending of sendings) {
      const match = /^(c\d+)-(\d+)#/.exec(sending);
      if (!match) continue;
      const [, client = '', number] = match;
      if (Number(number) < (last.get(client) ?? 0)) {
        throw new Violation(`I11: run ${runId} has signal ${sending} after a later one of the same client`);
      }
      last.set(client, Number(number));
    }
  }

  /** Reads everything once more: outcomes and queries are what they were, and change nothing. */
  async readAll(): Promise<void> {
    for (const [target] of this.starts.entries()) {
      const { workflowId } = this.#refs.get(target)!;
      const { ledger } = this.oracle;
      // What a step has spent may come when its run is over, and is still paid for; and a worker may come at any time.
      const others = () => this.oracle.commits - ledger.commitsOfWorkers;
      const before = others();
      const outcome = await this.#outcome({ workflowId }, 0);
      if (outcome.kind !== 'ok' || !outcome.value)
        throw new Violation(`I14: program ${target} has no outcome`);
      await this.#query(workflowId, false);
      for (const scope of ['run', 'chain', 'tree'] as const) await this.payers.cost(workflowId, scope);
      if (others() !== before) throw new Violation(`I13: reading program ${target} has changed something`);
    }
  }
}
