/**
 * Runs one program on one system: starts it, plays its script, and sees every run of the family to its end.
 *
 * Each action is played when nothing happens any more, so that what it meets is the same every time. A script that ends
 * before the family does is gone on with: what is held is released, who waits is told to go, and who still does not
 * end is cancelled and at last terminated. So every program ends. Whoever waits for the family's budget is paid for first.
 */

import type { BudgetState } from '../../src/core/cost/budget.js';
import type { CostScope, RunCosts } from '../../src/core/cost/sums.js';
import { PerdureError } from '../../src/core/errors.js';
import { CALLBACK_SIGNAL, callbackArguments } from '../../src/core/run/callback.js';
import type { RunOutcome, RunRef } from '../../src/engine.js';
import type { System } from '../contract/system.js';
import { isDetermined, type Met, raised } from './budgets.js';
import { Family } from './family.js';
import type { Begun, Holds } from './holds.js';
import type { Numbering } from './numbering.js';
import type { Action, ActionAnywhere, Program, ProgramInput, Raise } from './program.js';
import type { RunView } from './run-view.js';

/** What a call from outside was answered. */
export type Answer = { value: unknown } | { error: { name: string; message: string } } | { skipped: true };

export interface Played {
  action: Action;
  answer: Answer;
}

export interface Happened {
  runs: RunView[];
  outcomes: Map<string, RunOutcome>;
  played: Played[];
  /** What each run has spent, asked for by itself; and what the first run's whole tree has. */
  costs: RunCosts[];
  treeCosts: RunCosts[];
  budget: BudgetState | null;
  /** Each time that the family waited for its budget. */
  met: Met[];
  begun: Begun[];
}

/** More actions than any program needs: it does not end by being told to. */
const MAX_ACTIONS = 60;
/** Asking a cluster takes some calls. */
const WHY_EVERY = 3;

export async function drive(
  system: System,
  holds: Holds,
  program: Program,
  numbering: Numbering,
  workflowId: string,
): Promise<Happened> {
  const { budget } = program;
  const input: ProgramInput = {
    ...{ holds: holds.url, root: workflowId, isBudgeted: budget !== undefined },
    ...{ site: 0, body: numbering.body },
  };
  const { engine, catalog } = system;
  const { runId } = await engine.start({
    workflowType: program.workflow,
    catalog,
    workflowId,
    input: [JSON.stringify(input)],
    ...(budget && { budget: { amount: budget.amount, currency: budget.currency } }),
  });
  const family = new Family(engine, holds);
  family.follow(workflowId, runId);
  try {
    const driver = new Driver(system, holds, family, numbering, program);
    const played = await driver.play();
    const outcomes = new Map<string, RunOutcome>();
    for (const run of family.runs) outcomes.set(run.runId, await outcomeOf(system, run));
    const costs: RunCosts[] = [];
    for (const run of family.runs) costs.push(...(await costsOf(system, run, 'run')).costs);
    const tree = await costsOf(system, { workflowId, runId }, 'tree');
    return {
      ...{ runs: family.runs, outcomes, played, costs, treeCosts: tree.costs },
      ...{ budget: tree.budget, met: driver.met, begun: holds.begun(family.runIds) },
    };
  } finally {
    await family.stop();
  }
}

/** An action that was played; its answer may take longer than that. */
interface Playing {
  action: Action;
  answer: Promise<Answer> | Answer;
}

class Driver {
  readonly met: Met[] = [];
  readonly #played: Playing[] = [];
  readonly #script: Action[];
  readonly #raises: Raise[];
  /** What happens first when the budget is met. */
  #meanwhile: Action | undefined;
  /** Of the family's histories, when `go` was last sent for want of anything better. */
  #eventsAtGo = -1;
  /** Workflows in a row that made nothing of it. */
  #idleGoes = 0;
  /** The run that the script has paused. */
  #paused: RunView | undefined;
  /** What was posted to runs, by the request ids by which a repeat is known. */
  readonly #posted = new Set<string>();

  constructor(
    private readonly system: System,
    private readonly holds: Holds,
    private readonly family: Family,
    private readonly numbering: Numbering,
    program: Program,
  ) {
    this.#script = [...numbering.script];
    this.#raises = [...(program.budget?.raises ?? [])];
    this.#meanwhile = isDetermined(program) ? program.budget?.meanwhile : undefined;
  }

  async play(): Promise<Played[]> {
    for (let count = 0; ; count++) {
      await this.#untilPaidFor();
      if (this.family.open().length === 0) break;
      if (count > MAX_ACTIONS) throw new Error(`still open after ${count} actions`);
      for (const run of this.family.runs) run.cuts[count] = run.own.length;
      if (count % WHY_EVERY === 0) await this.#requireReason();
      const action = this.#script.shift() ?? this.#next();
      this.#played.push(await this.#act(action));
    }
    return Promise.all(this.#played.map(async ({ action, answer }) => ({ action, answer: await answer })));
  }

  /** Resolves when nothing happens any more, and not for want of money, unless something else is to happen first. */
  async #untilPaidFor(): Promise<void> {
    for (;;) {
      await this.family.untilAtRest();
      const waiting = this.family.waitingForBudget();
      if (waiting.length === 0) return;
      if (this.#meanwhile) {
        this.#script.unshift(this.#meanwhile);
        this.#meanwhile = undefined;
        return;
      }
      await this.#raise(waiting[0]!, this.#raises.shift() ?? 'enough');
    }
  }

  async #raise(run: RunView, raise: Raise): Promise<Answer> {
    const { engine } = this.system;
    const { workflowId, runId } = run;
    const before = await costsOf(this.system, run, 'run');
    if (!before.budget) return { skipped: true };
    const waiting = this.family.waitingForBudget().map((each) => ({ each, resumed: each.resumed }));
    const reasons = waiting.map(({ each }) => each.waitsForBudget!);
    const begun = this.holds.begun(this.family.runIds).length;
    const { budget } = await engine.setBudget({ workflowId, runId }, raised(raise, before.budget.spent));
    this.met.push({ reasons, begun, raise, budget });
    if (!budget.isExceeded) {
      await this.family.until(
        () => waiting.every(({ each, resumed }) => each.resumed > resumed || !each.waitsForBudget),
        'all that have waited for the budget go on',
      );
    }
    return { value: 'raised' };
  }

  /** Nothing happens any more, and there is a reason for that. */
  async #requireReason(): Promise<void> {
    const { workflowId, runId } = this.family.open()[0]!;
    const { reasons } = await this.system.engine.why({ workflowId, runId });
    if (reasons.length === 0 || reasons.some(({ code }) => code === 'closed'))
      throw new Error(`${workflowId} is open for ${JSON.stringify(reasons)}`);
  }

  #next(): Action {
    if (this.#held().length > 0) return { do: 'release', how: 'return', at: 0 };
    const open = this.family.open();
    const answer = this.#unanswered(open);
    if (answer) return answer;
    const events = this.family.runs.reduce((sum, run) => sum + run.own.length, 0);
    this.#idleGoes = events === this.#eventsAtGo + 1 ? this.#idleGoes + 1 : 0;
    this.#eventsAtGo = events;
    if (this.#idleGoes < open.length) return { do: 'go', at: open.length - 1 - this.#idleGoes };
    this.#idleGoes = 0;
    const unasked = open.findIndex((run) => !run.isCancelRequested);
    return unasked < 0 ? { do: 'terminate', at: 0 } : { do: 'cancel', at: unasked };
  }

  /** A callback that nobody has posted for in a workflow that may have made it. */
  #unanswered(open: readonly RunView[]): Action | undefined {
    const sites = this.numbering.callbackSites;
    for (const [at, run] of open.entries()) {
      for (const [which, site] of sites.entries()) {
        const action = { do: 'callback', at, which, posts: 'fitting' } as const;
        if (!this.#posted.has(requestOf(run, site, this.numbering, action))) return action;
      }
    }
    return undefined;
  }

  #held(): { run: RunView; site: number }[] {
    return this.family
      .open()
      .flatMap((run) =>
        run
          .pendingSteps()
          .filter(({ site }) => this.holds.isHeld(run.runId, site))
          .map(({ site }) => ({ run, site })),
      )
      .sort((one, other) => one.site - other.site);
  }

  /** Resolves when the histories show what the action did. */
  async #act(action: Action): Promise<Playing> {
    const open = this.family.open();
    const run = open[action.at % open.length]!;
    if (action.do === 'update') return this.#update(run, action);
    return { action, answer: await this.#call(run, action) };
  }

  async #call(run: RunView, action: Exclude<Action, { do: 'update' }>): Promise<Answer> {
    const { engine } = this.system;
    const target = { workflowId: run.workflowId };
    switch (action.do) {
      case 'go':
        return this.#signal(run, 'go', { site: 0 });
      case 'signal':
        return this.#signal(run, 'run', { site: action.body[0]?.site ?? 0, body: action.body });
      case 'pause':
        return this.#pause(run, action);
      case 'resume':
        return this.#resume();
      case 'cancel': {
        const answer = await answerOf(engine.cancel(target).then(() => 'cancelled'));
        await this.family.until(() => run.isCancelRequested || run.isClosed, 'the cancellation is seen');
        return answer;
      }
      case 'terminate': {
        const answer = await answerOf(
          engine.terminate(target, 'the script says so').then(() => 'terminated'),
        );
        await this.family.until(() => run.isClosed, 'the termination is seen');
        return answer;
      }
      case 'reset':
        return this.#reset();
      case 'raise':
        return this.#raise(run, action.raise);
      case 'query':
        return answerOf(engine.query(target, action.how, []).then(decoded));
      case 'callback':
        return this.#callback(run, action);
      case 'unknownUpdate':
        return answerOf(engine.update(target, 'unknown', []).then(decoded));
      case 'release': {
        const held = this.#held();
        const hold = held[action.at % held.length];
        if (!hold) return { skipped: true };
        this.holds.release(hold.run.runId, hold.site, action.how);
        return { value: 'released' };
      }
    }
  }

  async #reset(): Promise<Answer> {
    const run = this.family.latest(this.family.runs[0]!.workflowId)!;
    if (run.isClosed || run.count('START_CHILD_WORKFLOW_EXECUTION_INITIATED') > 0) return { skipped: true };
    const { workflowId, runId } = run;
    const made = await this.system.engine.reset({ workflowId, runId }, { toStart: true });
    this.family.follow(workflowId, made.runId);
    await this.family.until(() => run.isClosed, 'the reset is seen');
    return { value: 'reset' };
  }

  /** What is to happen meanwhile, and that it is resumed, comes next. */
  async #pause(run: RunView, { at, meanwhile }: Extract<Action, { do: 'pause' }>): Promise<Answer> {
    const { workflowId, runId } = run;
    const request = { reason: 'the script says so', by: 'operator' } as const;
    const answer = await this.#seenAsSignal(run, this.system.engine.pause({ workflowId, runId }, request));
    if ('error' in answer) return answer;
    this.#paused = run;
    this.#script.unshift(...MEANWHILE[meanwhile].map((action) => ({ ...action, at })), { do: 'resume', at });
    return answer;
  }

  async #resume(): Promise<Answer> {
    const run = this.#paused;
    this.#paused = undefined;
    if (!run || run.isClosed) return { skipped: true };
    const { workflowId, runId } = run;
    return this.#seenAsSignal(run, this.system.engine.resume({ workflowId, runId }));
  }

  /** Pausing and resuming are signals of the service itself; a run that was asked to stop is not paused, so not resumed. */
  async #seenAsSignal(run: RunView, call: Promise<unknown>): Promise<Answer> {
    const before = run.count('WORKFLOW_EXECUTION_SIGNALED');
    const answer = await answerOf(call.then(() => 'done'));
    if ('error' in answer) return answer;
    await this.family.until(
      () => run.count('WORKFLOW_EXECUTION_SIGNALED') > before || run.isClosed || run.isCancelRequested,
      'that the run is paused or resumed is seen',
    );
    return answer;
  }

  async #callback(run: RunView, action: Extract<Action, { do: 'callback' }>): Promise<Answer> {
    const sites = this.numbering.callbackSites;
    const site = sites[action.which % sites.length];
    if (site === undefined) return { skipped: true };
    const requestId = requestOf(run, site, this.numbering, action);
    const isRepeat = this.#posted.has(requestId);
    this.#posted.add(requestId);
    const input = callbackArguments(`c${site}`, POSTS[action.posts]);
    return this.#send(run, CALLBACK_SIGNAL, input, { requestId, isRepeat });
  }

  #signal(run: RunView, name: string, message: unknown): Promise<Answer> {
    return this.#send(run, name, [JSON.stringify(message)]);
  }

  async #send(
    run: RunView,
    name: string,
    input: string[],
    { requestId, isRepeat = false }: { requestId?: string; isRepeat?: boolean } = {},
  ): Promise<Answer> {
    const before = run.count('WORKFLOW_EXECUTION_SIGNALED');
    const sent = this.system.engine.signal({ workflowId: run.workflowId }, name, input, { requestId });
    const answer = await answerOf(sent.then(() => 'sent'));
    if ('value' in answer && !isRepeat) {
      await this.family.until(
        () => run.count('WORKFLOW_EXECUTION_SIGNALED') > before || run.isClosed,
        'the signal is seen',
      );
    }
    return answer;
  }

  async #update(run: RunView, action: Extract<Action, { do: 'update' }>): Promise<Playing> {
    const message = { site: action.body[0]?.site ?? 0, body: action.body, refuse: action.refuse };
    const accepted = run.count('WORKFLOW_EXECUTION_UPDATE_ACCEPTED');
    const completed = run.count('WORKFLOW_EXECUTION_UPDATE_COMPLETED');
    let answered: Answer | undefined;
    const target = { workflowId: run.workflowId };
    const answer = answerOf(
      this.system.engine.update(target, 'run', [JSON.stringify(message)]).then(decoded),
    ).then((given) => {
      answered = given;
      this.family.notify();
      return given;
    });
    await this.family.until(
      () =>
        answered !== undefined || run.count('WORKFLOW_EXECUTION_UPDATE_ACCEPTED') > accepted || run.isClosed,
      'the update is answered or accepted',
    );
    const isRefused = answered && 'error' in answered && answered.error.name !== 'UpdateFailedError';
    if (answered && !isRefused) {
      await this.family.until(
        () => run.count('WORKFLOW_EXECUTION_UPDATE_COMPLETED') > completed || run.isClosed,
        'the end of the update is seen',
      );
    }
    return { action, answer };
  }
}

const MEANWHILE: Record<Extract<Action, { do: 'pause' }>['meanwhile'], ActionAnywhere[]> = {
  nothing: [],
  go: [{ do: 'go' }],
  release: [{ do: 'release', how: 'return' }],
  query: [{ do: 'query', how: 'state' }],
  cancel: [{ do: 'cancel' }],
  raise: [{ do: 'raise', raise: 'enough' }],
};

const POSTS = { fitting: '{"ok":true}', odd: '{"ok":"perhaps"}', nothing: undefined };

/** As the door makes it: where what comes is checked, another body is another request. */
function requestOf(
  { runId }: RunView,
  site: number,
  numbering: Numbering,
  { posts }: Pick<Extract<Action, { do: 'callback' }>, 'posts'>,
): string {
  const statement = numbering.statement(site);
  const isChecked = statement?.op === 'callback' && statement.checked;
  return `${runId}/c${site}${isChecked ? `/${posts}` : ''}`;
}

const decoded = (payload: string | undefined): unknown =>
  payload === undefined ? '(nothing)' : JSON.parse(payload);

async function answerOf(call: Promise<unknown>): Promise<Answer> {
  try {
    return { value: await call };
  } catch (error) {
    if (!(error instanceof PerdureError)) throw error;
    return { error: { name: error.name, message: error.message } };
  }
}

async function costsOf(
  { engine }: System,
  { workflowId, runId }: RunRef,
  scope: CostScope,
): Promise<{ costs: RunCosts[]; budget: BudgetState | null }> {
  const costs: RunCosts[] = [];
  const { budget } = await engine.cost({ workflowId, runId }, scope, (run) => costs.push(run));
  return { costs, budget };
}

async function outcomeOf(system: System, { workflowId, runId }: RunView): Promise<RunOutcome> {
  const outcome = await system.engine.outcome({ workflowId, runId }, { followChain: false });
  if (!outcome) throw new Error(`${workflowId} ${runId} has closed in its history and has no outcome`);
  return outcome;
}
