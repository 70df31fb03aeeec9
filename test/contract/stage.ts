/**
 * What a case works with: runs of the system under test, as handles, and the ledger that sees what their steps do.
 * Every wait has an end, and none of them is a guess about time.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { EventOf, EventTypeName, HistoryEvent } from '../../src/core/history/event.js';
import type { Why, WhyReason } from '../../src/core/run/why.js';
import type {
  ResetPoint,
  RunDescription,
  RunOutcome,
  RunRef,
  RunSelector,
  StoppedRun,
} from '../../src/engine.js';
import type { Ledger } from './ledger.js';
import type { System } from './system.js';

/** Long enough for a busy machine; a case that meets it has failed. */
export const WAIT_MS = 60_000;

/** Longer than any case may take: one whose wait is not ended otherwise has failed. */
export const FOREVER_MS = 600_000;

/** Turns are the engine's own business: where a turn begins and ends differs between engines and runs. */
export const TURN_EVENTS: ReadonlySet<EventTypeName> = new Set<EventTypeName>([
  'WORKFLOW_TASK_SCHEDULED',
  'WORKFLOW_TASK_STARTED',
  'WORKFLOW_TASK_COMPLETED',
  'WORKFLOW_TASK_FAILED',
  'WORKFLOW_TASK_TIMED_OUT',
]);

export interface StartOptions {
  workflowId?: string;
  idempotency?: { key: string; fingerprint: string };
  budget?: { amount: string; currency: string };
}

export class Stage {
  #system: System | undefined;
  #ledger: Ledger | undefined;

  /** `waitMs` is how long anything is waited for. */
  constructor(readonly waitMs = WAIT_MS) {}

  fill(system: System, ledger: Ledger): void {
    this.#system = system;
    this.#ledger = ledger;
    ledger.leaveOut((entry) => system.isCutOff?.(entry) === true);
  }

  get system(): System {
    if (!this.#system) throw new Error('the system of this suite has not been started');
    return this.#system;
  }

  get engine(): System['engine'] {
    return this.system.engine;
  }

  get ledger(): Ledger {
    if (!this.#ledger) throw new Error('the ledger of this suite has not been started');
    return this.#ledger;
  }

  /** Where the steps of one case report to, under a key of its own. */
  place(name = 'case'): { ledger: string; key: string } {
    return { ledger: this.ledger.url, key: unique(name) };
  }

  async start(workflowType: string, input?: unknown, options: StartOptions = {}): Promise<Run> {
    const ref = await this.engine.start({
      workflowType,
      catalog: this.system.catalog,
      input: payloads(input),
      ...options,
    });
    return new Run(this, ref.workflowId, ref.runId);
  }

  /** Starts a run and gives what it returned. */
  async run(workflowType: string, input?: unknown): Promise<unknown> {
    return (await this.start(workflowType, input)).result();
  }

  /** A handle on the latest run of an id that something else has started. */
  async attach(workflowId: string): Promise<Run> {
    const { runId } = await this.engine.describe({ workflowId });
    return new Run(this, workflowId, runId);
  }
}

/** One run. Messages go to the latest run of its id, as callers of the API send them; everything else is pinned. */
export class Run {
  constructor(
    readonly stage: Stage,
    readonly workflowId: string,
    readonly runId: string,
  ) {}

  get pinned(): RunSelector {
    return { workflowId: this.workflowId, runId: this.runId };
  }

  get latest(): RunSelector {
    return { workflowId: this.workflowId };
  }

  /** Of this very run. */
  async outcome(): Promise<RunOutcome> {
    return expectOutcome(await this.stage.engine.outcome(this.pinned, { waitMs: this.stage.waitMs }), this);
  }

  /** Of the last run of the chain. */
  async finalOutcome(): Promise<RunOutcome> {
    return expectOutcome(await this.stage.engine.outcome(this.latest, { waitMs: this.stage.waitMs }), this);
  }

  /** What the chain returned; anything but completion is an error that says why. */
  async result(): Promise<unknown> {
    const outcome = await this.finalOutcome();
    if (outcome.status !== 'completed') {
      throw new Error(`${this.workflowId} ended ${outcome.status}: ${JSON.stringify(outcome.failure)}`);
    }
    return outcome.output === undefined ? undefined : JSON.parse(outcome.output);
  }

  describe(): Promise<RunDescription> {
    return this.stage.engine.describe(this.pinned);
  }

  async history(): Promise<HistoryEvent[]> {
    const events: HistoryEvent[] = [];
    for (;;) {
      const page = await this.stage.engine.history(this.pinned, { afterEventId: events.length, limit: 1000 });
      events.push(...page.events);
      if (page.events.length < 1000) return events;
    }
  }

  /** The types of the events, without those of turns. */
  async eventTypes(): Promise<EventTypeName[]> {
    return (await this.history()).map((event) => event.type).filter((type) => !TURN_EVENTS.has(type));
  }

  async eventsOf<T extends EventTypeName>(type: T): Promise<EventOf<T>[]> {
    return (await this.history()).filter((event): event is EventOf<T> => event.type === type);
  }

  /** Resolves with the `count`-th event of that type once it is in the history. */
  async until<T extends EventTypeName>(type: T, count = 1): Promise<EventOf<T>> {
    return (await this.untilEvent((event) => event.type === type, count, type)) as EventOf<T>;
  }

  async untilEvent(
    matches: (event: HistoryEvent) => boolean,
    count = 1,
    what = 'such',
  ): Promise<HistoryEvent> {
    const deadline = Date.now() + this.stage.waitMs;
    const seen: string[] = [];
    let afterEventId = 0;
    let left = count;
    while (Date.now() < deadline) {
      const page = await this.stage.engine.history(this.pinned, { afterEventId, limit: 1000, waitMs: 2_000 });
      for (const event of page.events) {
        afterEventId = event.id;
        seen.push(event.type);
        if (matches(event) && --left === 0) return event;
      }
      if (page.ended) break;
    }
    throw new Error(`${this.workflowId} has no ${count}. ${what} event: ${seen.join(', ')}`);
  }

  signal(name: string, payload?: unknown): Promise<RunRef> {
    return this.stage.engine.signal(this.latest, name, payloads(payload));
  }

  async query(name: string, payload?: unknown): Promise<unknown> {
    const answer = await this.stage.engine.query(this.latest, name, payloads(payload));
    return answer === undefined ? undefined : JSON.parse(answer);
  }

  async update(name: string, payload?: unknown): Promise<unknown> {
    const answer = await this.stage.engine.update(this.latest, name, payloads(payload));
    return answer === undefined ? undefined : JSON.parse(answer);
  }

  cancel(): Promise<StoppedRun> {
    return this.stage.engine.cancel(this.latest);
  }

  pause(reason?: string): Promise<RunRef> {
    return this.stage.engine.pause(this.pinned, { reason, by: 'operator' });
  }

  resume(): Promise<RunRef> {
    return this.stage.engine.resume(this.pinned);
  }

  /** Resolves once a turn has been made after an event that matches. */
  async untilTurnAfter(matches: (event: HistoryEvent) => boolean): Promise<void> {
    const { id } = await this.untilEvent(matches);
    await this.untilEvent((event) => event.type === 'WORKFLOW_TASK_COMPLETED' && event.id > id);
  }

  why(): Promise<Why> {
    return this.stage.engine.why(this.pinned);
  }

  /** Why the run is where it is, once `fits` says that this is it. */
  async untilWhy(what: string, fits: (why: Why) => boolean): Promise<Why> {
    const deadline = Date.now() + this.stage.waitMs;
    for (;;) {
      const why = await this.why();
      if (fits(why)) return why;
      if (Date.now() >= deadline)
        throw new Error(`${this.workflowId} does not become ${what}: ${JSON.stringify(why.reasons)}`);
      await sleep(20);
    }
  }

  /** Why it is where it is, once these are the reasons, by their codes. */
  untilCodes(...codes: WhyReason['code'][]): Promise<Why> {
    return this.untilWhy(
      codes.join(', '),
      ({ reasons }) => reasons.map(({ code }) => code).join() === codes.join(),
    );
  }

  terminate(reason = 'ended by the test'): Promise<RunRef> {
    return this.stage.engine.terminate(this.latest, reason);
  }

  async reset(point: ResetPoint): Promise<Run> {
    const ref = await this.stage.engine.reset(this.pinned, point);
    return new Run(this.stage, ref.workflowId, ref.runId);
  }

  /** The run that follows this one in its chain, once there is one. */
  async next(): Promise<Run> {
    const event = await this.untilEvent((each) => 'newExecutionRunId' in each.attributes);
    const { newExecutionRunId } = event.attributes as { newExecutionRunId: string };
    return new Run(this.stage, this.workflowId, newExecutionRunId);
  }
}

export function unique(name: string): string {
  return `${name}-${randomUUID().slice(0, 13)}`;
}

export function payloads(value: unknown): string[] {
  return value === undefined ? [] : [JSON.stringify(value)];
}

function expectOutcome(outcome: RunOutcome | undefined, run: Run): RunOutcome {
  if (!outcome) throw new Error(`${run.workflowId} is still open after ${run.stage.waitMs} ms`);
  return outcome;
}

/** One of the folders of workflows that the cases deploy. */
export function deployment(
  name: 'first' | 'second' | 'third' | 'fourth' | 'hostile' | 'newcomer' | 'main',
): string {
  const folder = name === 'main' ? './workflows' : `./deployments/${name}`;
  return fileURLToPath(new URL(folder, import.meta.url));
}
