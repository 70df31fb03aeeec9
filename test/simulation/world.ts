/**
 * One world: an engine with its workers, clients and faults, all driven by one seed in one thread.
 *
 * 1. Nothing in it reads a real clock, draws a random number of its own or waits for anything real: the same plan gives
 *    the same trace.
 * 2. First comes the phase in which everything may fail, and in which the invariants must hold after every commit
 *    (safety). Then nothing fails any more, and all must come to its end in bounded time (liveness, I7).
 */
import type { EmbeddedEngine } from '../../src/embedded/index.js';
import { hashOf, Random } from '../../src/testing/random.js';
import { type Answer, Clients, type Service } from './clients.js';
import { Oracle } from './oracle.js';
import { CLIENTS, isQuiet, type Plan, type PlannedFault, SAFETY_MS } from './plan.js';
import { CURRENCIES, signalsWanted } from './program.js';
import { Violation } from './run-record.js';
import { Killed, Server, type Witness } from './server.js';
import { amountOf, spendingOf } from './spending.js';
import { Owner, VirtualTime } from './virtual-time.js';

/**
 * All ends within this time once nothing fails; a clock that was ten minutes ahead has to be caught up with, and families whose
 * members sleep for a minute and are retried at each of their levels take more than an hour.
 */
const LIVENESS_MS = 4 * 3_600_000;
/** A call is answered in this time, whatever happens: a message waits for half a minute for a worker. */
const CALL_MS = 90_000;
const SWEEP_MS = 1_000;
/** Who brings about what others wait for, and waits for nobody himself. */
const OPERATOR = CLIENTS;
/** How late a timer may fire, as the engine looks at its clock once a second. */
const LATE_MS = 2_500;

export interface WorldResult {
  violation: string | undefined;
  /** Of everything that happened, in order. */
  traceHash: string;
  commits: number;
  events: number;
  kills: number;
  answered: number;
  runs: number;
  /** Things that steps have said that they spent, and how often a budget has paused a run. */
  costs: number;
  budgetPauses: number;
  /** Runs whose time was over, and turns and steps that other code was needed for. */
  timeouts: number;
  misfits: number;
  virtualMs: number;
}

export class World implements Service, Witness {
  readonly #time: VirtualTime;
  readonly #oracle = new Oracle();
  readonly #server: Server;
  readonly #clients: Clients;
  readonly #owner = new Owner();
  #hash = 0x811c9dc5;
  #violation: string | undefined;

  constructor(
    private readonly plan: Plan,
    private readonly onTrace?: (line: string) => void,
  ) {
    const random = new Random(`${plan.seed}/world`);
    this.#time = new VirtualTime(random.of('time'));
    this.#server = new Server(plan, this.#time, random, this.#oracle, this);
    this.#clients = new Clients(plan.starts, this, this.#oracle, random.of('clients'), (error) =>
      this.failed(error),
    );
  }

  async run(): Promise<WorldResult> {
    const { plan } = this;
    try {
      this.#server.open();
      for (const [target, { at, client }] of plan.starts.entries()) {
        this.#at(at, () => this.#clients.enqueue(client, () => this.#clients.start(target)));
      }
      for (const call of plan.calls) {
        this.#at(call.at, () => this.#clients.enqueue(call.client, () => this.#clients.perform(call)));
      }
      for (const fault of plan.faults) this.#at(fault.at, () => this.#inject(fault));
      this.#at(SWEEP_MS, () => this.#sweep());
      await this.#pass(SAFETY_MS);
      this.#calmDown();
      await this.#pass(SAFETY_MS + LIVENESS_MS, () => this.#isOver());
      if (!this.#violation && !this.#isOver())
        this.violated(`I7: after ${LIVENESS_MS} ms without faults ${this.#leftOver()}`);
      if (!this.#violation) await this.#finish();
    } catch (error) {
      this.failed(error);
    } finally {
      await this.#server.remove();
    }
    const { commits, events, runs, ledger } = this.#oracle;
    return {
      violation: this.#violation,
      traceHash: (this.#hash >>> 0).toString(16),
      commits,
      events,
      kills: this.#server.kills,
      answered: this.#server.answered,
      runs: runs.size,
      costs: ledger.count,
      budgetPauses: [...runs.values()].reduce((sum, record) => sum + record.budgetPauses, 0),
      timeouts: [...runs.values()].filter(({ closed }) => closed?.type === 'WORKFLOW_EXECUTION_TIMED_OUT')
        .length,
      misfits: this.#server.misfits,
      virtualMs: this.#time.ms,
    };
  }

  // ── time ─────────────────────────────────────────────────────────────────────────────────────────

  #at(ms: number, action: () => void): void {
    this.#time.after(ms - this.#time.ms, this.#owner, action);
  }

  async #pass(until: number, isOver: () => boolean = () => false): Promise<void> {
    while (!this.#violation && !isOver()) {
      const action = this.#time.next(until);
      if (!action) return;
      try {
        action();
      } catch (error) {
        this.failed(error);
      }
      // All that follows at once is done before anything else happens.
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
  }

  get nowMs(): number {
    return this.#time.ms;
  }

  get isCalm(): boolean {
    return this.#server.isCalm;
  }

  trace(what: string): void {
    this.#hash = hashOf(`${this.#time.ms} ${what}\n`, this.#hash);
    this.onTrace?.(`${String(this.#time.ms).padStart(8)} ${what}`);
  }

  violated(message: string): void {
    this.trace(`VIOLATED ${message}`);
    this.#violation ??= message;
  }

  failed(error: unknown): void {
    if (error instanceof Killed) return;
    if (error instanceof Violation) this.violated(error.message);
    else this.violated(`the engine threw: ${error instanceof Error ? error.stack : String(error)}`);
  }

  // ── faults ───────────────────────────────────────────────────────────────────────────────────────

  #inject(fault: PlannedFault): void {
    this.trace(`fault ${JSON.stringify(fault)}`);
    if (fault.kind === 'clock') this.#setClock(fault.offsetMs);
    else this.#server.inject(fault);
  }

  #setClock(offsetMs: number): void {
    this.#oracle.clockShows(this.#time.now());
    this.#time.set(offsetMs);
  }

  #calmDown(): void {
    this.trace('from here on nothing fails');
    this.#server.calmDown();
    this.#setClock(0);
  }

  call<T>(what: string, action: (engine: EmbeddedEngine) => Promise<T>): Promise<Answer<T>> {
    return this.#server.call(what, action);
  }

  pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#time.after(ms, this.#owner, resolve);
    });
  }

  // ── liveness ─────────────────────────────────────────────────────────────────────────────────────

  /** Looks at what nothing else would notice: that something does not happen. */
  #sweep(): void {
    this.#time.after(SWEEP_MS, this.#owner, () => this.#sweep());
    const since = Math.max(this.#server.upSince, this.#time.setAt, this.#server.fullUntil);
    if (this.#time.ms - since > 2 * LATE_MS) {
      for (const record of this.#oracle.open()) {
        const overdue = record.overdue(this.#time.now() - LATE_MS);
        if (overdue.length > 0)
          this.violated(`I8: run ${record.runId}: timers ${overdue.join()} have not fired in time`);
      }
    }
    for (const { what, since: asked } of this.#server.callsUnderWay) {
      if (this.#time.ms - asked > CALL_MS) this.violated(`I7: ${what} is not answered in ${CALL_MS} ms`);
    }
    if (this.isCalm && this.#time.ms % 5_000 < SWEEP_MS) this.#sendWhatIsAwaited();
  }

  /** Paused runs are resumed, budgets that runs wait for are raised, and signals that got lost or were given up come again while somebody waits for them. */
  #sendWhatIsAwaited(): void {
    for (const record of this.#oracle.open()) {
      const { started, input } = record;
      const pausedBy = record.pausedBy();
      if (pausedBy === 'budget') this.#clients.enqueue(OPERATOR, () => this.#clients.payers.raise(record));
      else if (pausedBy) this.#clients.enqueue(OPERATOR, () => this.#clients.resume(started.workflowId));
      if (signalsWanted(input.program) === 0) continue;
      this.#clients.enqueue(OPERATOR, () => this.#clients.signal(started.workflowId, OPERATOR));
    }
  }

  #isOver(): boolean {
    return (
      this.#clients.underWay === 0 &&
      this.#clients.unstarted === 0 &&
      this.#server.isUp &&
      this.#oracle.openCount === 0
    );
  }

  #leftOver(): string {
    const open = this.#oracle.open().map(({ runId, texts }) => `run ${runId} is open after ${texts.at(-1)}`);
    return [
      ...open.slice(0, 3),
      `${open.length} runs are open, ${this.#clients.underWay} calls are under way and ${this.#clients.unstarted} programs not started`,
    ].join('; ');
  }

  /** Where nothing fails and nobody interferes, what a tree spends follows from its program alone. */
  #checkSpending(): void {
    const { runs, ledger } = this.#oracle;
    for (const { started, runId, input } of runs.values()) {
      if (started.parent || started.firstExecutionRunId !== runId) continue;
      for (const currency of CURRENCIES) {
        const spent = ledger.spentBy(runId, currency);
        const { least, most } = spendingOf(input.program, currency);
        if (spent >= least && spent <= most) continue;
        throw new Violation(
          `model: "${started.workflowId}" has spent ${amountOf(spent)} ${currency}, and its program spends ${amountOf(least)} to ${amountOf(most)}`,
        );
      }
    }
  }

  async #finish(): Promise<void> {
    this.#clients.check();
    if (isQuiet(this.plan)) this.#checkSpending();
    let isRead = false;
    this.#clients.enqueue(0, async () => {
      await this.#clients.readAll();
      isRead = true;
    });
    await this.#pass(this.#time.ms + CALL_MS * 10, () => isRead);
    if (this.#violation) return;
    if (!isRead) throw new Violation('I7: what is over cannot be read');
    await this.#server.close();
  }
}
