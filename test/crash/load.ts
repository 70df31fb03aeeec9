/**
 * The clients: several at a time on each run, each sending one operation after the other for as long as the server
 * answers. What they are told is written into the ledger; what they read is held against it at once.
 */
import { type Chore, somePlan } from './chores.js';
import { type Kind, type Meddling, monotonicMs, type Operation, type Operations } from './operations.js';
import type { Random } from './random.js';
import { Spending } from './spending.js';
import type { Answer, Wire } from './wire.js';

/** Clients that send to the same run at the same time. */
const CLIENTS_PER_RUN = 4;
const OPEN_BOOKS = 5;
/** Beyond this a book is finished, so that histories stay short and runs close while others go on. */
const MESSAGES_PER_BOOK = 60;

export interface Started {
  workflowId: string;
  type: 'book' | 'chores';
  plan: Chore[];
  hasBudget: boolean;
}

interface Served {
  text: string;
  at: number;
  type: string;
}

export class Load {
  /** Every run that was asked for, by its id. */
  readonly started = new Map<string, Started>();
  /** Books that take messages. */
  #open: string[] = [];
  /** I3: every event that was ever served, by run and number, as it was then. */
  readonly #served = new Map<string, Served>();
  /** I14: results as they were served first, by run. */
  readonly #results = new Map<string, Served>();
  readonly broken: string[] = [];
  readonly spending: Spending;
  #sessions = 0;
  #runs = 0;

  constructor(
    private readonly wire: Wire,
    private operations: Operations,
    private readonly effects: string,
    private readonly random: Random,
    private readonly name: string,
  ) {
    this.spending = new Spending(wire);
  }

  /** Sends until `isOver`, or until the server is gone. */
  async run(isOver: () => boolean): Promise<void> {
    const clients: Promise<void>[] = [];
    const session = ++this.#sessions;
    const join = (workflowId: string) => {
      for (let client = 0; client < CLIENTS_PER_RUN; client++) {
        clients.push(this.#client(workflowId, `${session}-${client}`, isOver));
      }
    };
    for (const workflowId of this.#open) join(workflowId);
    const starter = this.#starter(isOver, join);
    await starter;
    await Promise.all(clients);
  }

  /** Starts of which nothing is known, or that were refused for the moment, are sent again with their keys. */
  async repeatStarts(): Promise<void> {
    const left = this.operations.all.filter(
      ({ kind, outcome }) => kind === 'start' && outcome !== 'acknowledged',
    );
    await Promise.all(left.map((operation) => this.#start(operation)));
  }

  /** So that nobody waits for a budget: on the run that is open when it arrives. */
  async raiseAll(): Promise<void> {
    const left = [...this.started.values()].filter(({ hasBudget }) => hasBudget);
    await Promise.all(
      left.map(async ({ workflowId }) => {
        for (let answer: Answer | undefined; !answer || answer.status === 409; ) {
          const { status, text } = await this.wire.get(`/workflow/${workflowId}/status`);
          const run = JSON.parse(text) as { runId: string; status: string };
          if (status !== 200 || run.status !== 'running') return;
          answer = await this.#setBudget(workflowId, run.runId, 1_000);
        }
      }),
    );
  }

  #setBudget(workflowId: string, runId: string, units: number): Promise<Answer> {
    const amount = this.spending.amount(units);
    const path = `/workflow/${workflowId}/runs/${runId}/budget`;
    return this.#operate('budget', workflowId, amount, 'PATCH', path, { amount });
  }

  /** Whoever would have resumed them is gone. */
  async resumeAll(): Promise<void> {
    const { text } = await this.wire.get('/workflow/runs?paused=true&limit=500');
    const { runs } = JSON.parse(text) as { runs: { workflowId: string; runId: string }[] };
    await Promise.all(
      runs.map(({ workflowId, runId }) =>
        this.wire.send('POST', `/workflow/${workflowId}/runs/${runId}/resume`),
      ),
    );
  }

  /** Every book that is still open is told to finish. */
  async finishAll(): Promise<void> {
    const open = [...this.started.values()].filter(({ type }) => type === 'book');
    await Promise.all(
      open.map(({ workflowId }) => this.wire.send('POST', `/workflow/${workflowId}/signal/finish`, {})),
    );
    this.#open = [];
  }

  /** I14: the result is the same, byte by byte, whenever it is asked for. Undefined while the run is open. */
  async result(workflowId: string, waitMs = 0): Promise<string | undefined> {
    const { status, text } = await this.wire.get(`/workflow/${workflowId}/result?wait=${waitMs}`);
    if (status !== 200) return undefined;
    // A reset makes another run of it.
    const { runId } = JSON.parse(text) as { runId: string };
    const before = this.#results.get(runId);
    if (!before) this.#results.set(runId, { text, at: monotonicMs(), type: '' });
    else if (before.text !== text) this.broken.push(`${workflowId}: another result than before`);
    return text;
  }

  /** I3: what was served before is served again. */
  async history(workflowId: string): Promise<void> {
    const path = `/workflow/${workflowId}/history?pageSize=1000&includePayloads=true`;
    const { status, text } = await this.wire.get(path);
    if (status !== 200) return;
    const { runId, events } = JSON.parse(text) as {
      runId: string;
      events: { eventId: string; eventTypeName: string }[];
    };
    const at = monotonicMs();
    events.forEach((event, index) => {
      if (event.eventId !== String(index + 1)) this.broken.push(`${runId}: event ${index + 1} is missing`);
      const key = `${runId}/${event.eventId}`;
      const now = JSON.stringify(event);
      const before = this.#served.get(key);
      if (!before) this.#served.set(key, { text: now, at, type: event.eventTypeName });
      else if (before.text !== now) {
        this.broken.push(`${workflowId}: event ${key} was served as ${before.text} and is ${now}`);
      }
    });
  }

  get eventsServed(): number {
    return this.#served.size;
  }

  /** Every event that a caller had seen by then: its run and number, and its type. */
  *servedBefore(instant: number): Generator<[key: string, type: string]> {
    for (const [key, { at, type }] of this.#served) if (at < instant) yield [key, type];
  }

  /** The power went at that instant: nobody has seen anything later, and what was not sent by then never was. */
  rollBack(instant: number, operations: Operations): void {
    this.operations = operations;
    for (const id of this.started.keys()) if (operations.of(id).length === 0) this.started.delete(id);
    this.#open = this.#open.filter((id) => this.started.has(id));
    this.spending.rollBack(instant);
    for (const seen of [this.#served, this.#results]) {
      for (const [key, { at }] of seen) if (at >= instant) seen.delete(key);
    }
  }

  /** Runs of one kind, one after the other, until `isOver`. */
  async provoke(plan: Chore[], meddling: Meddling | undefined, isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      const [other] = this.#open;
      const fitting = plan.map((chore) =>
        chore.kind === 'tell'
          ? { ...chore, workflowId: other ?? 'nobody', value: `told ${this.#runs}` }
          : chore,
      );
      const { workflowId, answers } = await this.#startRun('chores', fitting, meddling === 'budget');
      if (answers.every(({ outcome }) => outcome !== 'acknowledged')) return;
      if (meddling) await this.#meddle(workflowId, meddling, isOver);
      // So that some get to their end while others begin.
      await this.result(workflowId, 50);
    }
  }

  async #starter(isOver: () => boolean, join: (workflowId: string) => void): Promise<void> {
    while (!isOver()) {
      const type = this.#open.length < OPEN_BOOKS ? 'book' : 'chores';
      const plan = type === 'book' ? [] : somePlan(this.random, `${this.name}.${this.#runs}`, this.#open);
      const { workflowId, answers } = await this.#startRun(type, plan, this.random.below(3) === 0);
      if (answers.some((answer) => answer.status === 200)) {
        if (type === 'book') {
          this.#open.push(workflowId);
          join(workflowId);
        } else if (this.random.below(6) === 0) {
          const how = this.random.pick(['terminate', 'stop', 'reset', 'pause'] as const);
          await this.#meddle(workflowId, how, isOver);
        } else if (this.started.get(workflowId)!.hasBudget) await this.#meddle(workflowId, 'budget', isOver);
        // Not as fast as it goes: the runs that are there are to get somewhere.
        await Promise.all([
          this.history(workflowId),
          this.spending.look(workflowId),
          this.result(this.#someone(), 20),
        ]);
      }
      if (answers.every(({ outcome }) => outcome !== 'acknowledged')) return;
    }
  }

  /** Several calls at once with the same key are one start. */
  async #startRun(
    type: Started['type'],
    plan: Chore[],
    hasBudget: boolean,
  ): Promise<{ workflowId: string; answers: Answer[] }> {
    const workflowId = `${this.name}-${type}-${this.#runs++}`;
    this.started.set(workflowId, { workflowId, type, plan, hasBudget });
    const input = type === 'book' ? { effects: this.effects } : { effects: this.effects, plan };
    // That of chores is spent soon; books take messages, which a pause would hold up.
    const amount = type === 'book' ? '1000' : '0.02';
    const budget = hasBudget ? { amount, currency: 'USD' } : undefined;
    const body = { workflowName: type, workflowId, input, budget };
    const operation = this.operations.begin({
      ...{ id: `key of ${workflowId}`, kind: 'start', workflowId, sender: 'starter', body },
    });
    const answers = await Promise.all([this.#start(operation), this.#start(operation)]);
    const ids = new Set(answers.filter(({ status }) => status === 200).map(({ text }) => text));
    if (ids.size > 1) this.broken.push(`one key started several runs: ${[...ids].join(' ')}`);
    return { workflowId, answers };
  }

  #someone(): string {
    return this.random.pick([...this.started.keys()]);
  }

  /** The second of two answers about the same operation must not take back what the first has said. */
  async #start(operation: Operation): Promise<Answer> {
    const answer = await this.wire.send('POST', '/workflow/start', operation.body, {
      'idempotency-key': operation.id,
    });
    if (operation.outcome !== 'acknowledged') this.#learn(operation, answer);
    return answer;
  }

  /** Ends, resets or pauses a run that is under way or over. */
  async #meddle(workflowId: string, how: Meddling, isOver: () => boolean): Promise<void> {
    await this.result(workflowId, how === 'reset' ? 300 : this.random.below(300));
    if (isOver()) return;
    const reason = `${workflowId}/meddling`;
    const { status, text } = await this.wire.get(`/workflow/${workflowId}/status`);
    if (status !== 200) return;
    const { runId } = JSON.parse(text) as { runId: string };
    if (how === 'budget') {
      await this.#setBudget(workflowId, runId, 1);
      return;
    }
    const run = `/workflow/${workflowId}/runs/${runId}`;
    const path = `${run}/${how}`;
    const body = how === 'reset' ? { stepName: 'act', reason } : { reason };
    if (how === 'stop') await this.#operate(how, workflowId, reason, 'PATCH', path);
    else await this.#operate(how, workflowId, reason, 'POST', path, body);
    if (how === 'pause') {
      await this.#lookForPause(run, workflowId);
      await this.#operate('resume', workflowId, `${reason}/over`, 'POST', `${run}/resume`);
    }
  }

  /** Once it was acknowledged, an open run says that it is paused, to whoever asks. */
  async #lookForPause(run: string, workflowId: string): Promise<void> {
    const isPaused = this.operations
      .of(workflowId)
      .some(({ kind, outcome }) => kind === 'pause' && outcome === 'acknowledged');
    if (!isPaused) return;
    const { status, text } = await this.wire.get(`${run}/status`);
    if (status !== 200) return;
    const found = JSON.parse(text) as { status: string; paused?: unknown };
    if (found.status === 'running' && !found.paused) this.broken.push(`${workflowId} was paused and is not`);
  }

  async #client(workflowId: string, sender: string, isOver: () => boolean): Promise<void> {
    const path = `/workflow/${workflowId}`;
    for (let count = 0; !isOver(); count++) {
      const value = `${workflowId}/${sender}/${count}`;
      const choice = this.random.below(20);
      let answer: Answer | undefined;
      if (choice < 10) {
        answer = await this.#operate('signal', workflowId, value, 'POST', `${path}/signal/add`, {
          payload: value,
        });
      } else if (choice < 14) {
        answer = await this.#operate('update', workflowId, value, 'POST', `${path}/update/put`, {
          payload: value,
        });
      } else if (choice < 17) answer = await this.#query(workflowId);
      else if (choice === 17) await this.spending.look(workflowId);
      else if (choice < 19) await this.history(workflowId);
      else if (this.operations.of(workflowId).length > MESSAGES_PER_BOOK) {
        await this.#retire(workflowId, `${value}/retired`);
        return;
      } else if (this.random.below(4) === 0) {
        answer = await this.wire.send('POST', `${path}/signal/turn`, {});
      }
      // Gone, or closed by another client.
      if (answer && (answer.status === 0 || answer.status === 409)) return;
      // Asked to come again later, as a client that is told so does.
      if (answer && (answer.status === 429 || answer.status === 507)) {
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    }
  }

  async #retire(workflowId: string, reason: string): Promise<void> {
    this.#open = this.#open.filter((each) => each !== workflowId);
    const path = `/workflow/${workflowId}`;
    switch (this.random.below(4)) {
      case 0:
        await this.#operate('terminate', workflowId, reason, 'POST', `${path}/terminate`, { reason });
        return;
      case 1:
        await this.#operate('stop', workflowId, reason, 'PATCH', `${path}/stop`);
        return;
      default:
        await this.wire.send('POST', `${path}/signal/finish`, {});
    }
  }

  /** A query sees every message that was acknowledged before it was sent. */
  async #query(workflowId: string): Promise<Answer> {
    const known = this.operations
      .of(workflowId)
      .filter(({ kind, outcome }) => outcome === 'acknowledged' && (kind === 'signal' || kind === 'update'));
    const answer = await this.wire.send('POST', `/workflow/${workflowId}/query/seen`, {});
    if (answer.status !== 200) return answer;
    const { signals, updates } = JSON.parse(answer.text) as { signals: string[]; updates: string[] };
    const seen = new Set([...signals, ...updates]);
    const missing = known.filter(({ id }) => !seen.has(id));
    // One that was terminated has made no turn since, so its code has not seen the last of them.
    const isTerminated = this.operations.of(workflowId).some(({ kind }) => kind === 'terminate');
    if (missing.length > 0 && !isTerminated) {
      this.broken.push(`${workflowId}: a query does not see ${missing.map(({ id }) => id).join(', ')}`);
    }
    return answer;
  }

  async #operate(
    kind: Kind,
    workflowId: string,
    id: string,
    method: string,
    path: string,
    body?: unknown,
  ): Promise<Answer> {
    const sender = id.split('/').slice(0, 2).join('/');
    const operation = this.operations.begin({ id, kind, workflowId, sender });
    const answer = await this.wire.send(method, path, body);
    this.#learn(operation, answer);
    return answer;
  }

  #learn(operation: Operation, { outcome, text }: Answer): void {
    Object.assign(operation, { outcome, endedAt: monotonicMs() });
    if (outcome === 'acknowledged') operation.answer = JSON.parse(text);
  }
}
