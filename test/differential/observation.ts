/**
 * What happened, in a form that is the same on every engine: without ids that are made up, times and stacks.
 *
 * Left out, and why: numbers of events (turns stand between them; references are replaced by the statement that is
 * meant, and `brokenRules` holds them against their targets), run ids and generated workflow ids (replaced by who they
 * are), times, stacks, and what an engine notes for itself.
 */
import type { BudgetState } from '../../src/core/cost/budget.js';
import { COMMAND_EVENTS, type EventTypeName, type HistoryEvent } from '../../src/core/history/event.js';
import type { Failure } from '../../src/core/history/failure.js';
import type { RunOutcome } from '../../src/engine.js';
import { resultText } from '../../src/http/wire/result.js';
import { brokenRules } from '../contract/invariants.js';
import { brokenPromises, isDetermined, type Met } from './budgets.js';
import type { Happened } from './driver.js';
import { meaningOf, numberOf, withoutAttempts } from './meaning.js';
import { Names } from './names.js';
import type { Numbering } from './numbering.js';
import type { Program, StepBehaviour } from './program.js';
import { NOTES, type RunView } from './run-view.js';
import { Sites } from './sites.js';
import { wrongCosts } from './spent.js';

export interface ObservedEvent {
  type: EventTypeName;
  /** The statement it belongs to. */
  site: number | undefined;
  meaning: Record<string, unknown>;
  number: string | undefined;
}

export interface ObservedRun {
  /** Who it is: the statement that called it, and its place in its chain. */
  who: string;
  status: string;
  result: unknown;
  /** The events between two actions of the script. */
  phases: ObservedEvent[][];
  /** The events of the first turn of each phase: what came in, and what it asked for. */
  firstTurns: { incoming: ObservedEvent[]; commands: ObservedEvent[] }[];
  brokenRules: string[];
}

export interface Observation {
  runs: ObservedRun[];
  /** Whether it is determined when the budget is met. */
  isDetermined: boolean;
  met: Met[];
  budget: BudgetState | null;
  /** Attempts of steps that have begun, by whose they are. */
  begun: string[];
  brokenPromises: string[];
  answers: { action: string; answer: unknown }[];
  /** What shows that a worker was not heard of for seconds, which is the machine's doing and changes what happens. */
  disturbances: string[];
}

export function observe(
  happened: Happened,
  program: Program,
  numbering: Numbering,
  catalog: string,
): Observation {
  const names = new Names(happened.runs, catalog);
  const costs = wrongCosts(happened);
  const runs = happened.runs.map((run) => {
    const observed = observeRun(
      run,
      happened.outcomes.get(run.runId)!,
      numbering,
      names,
      happened.played.length,
      program.budget !== undefined,
    );
    return { ...observed, brokenRules: [...observed.brokenRules, ...costs.get(run.runId)!] };
  });
  return {
    runs: runs.sort((one, other) => (one.who < other.who ? -1 : 1)),
    answers: happened.played.map(({ action, answer }) => ({
      action: `${action.do} at ${action.at}`,
      answer: names.replaceIn(program.budget ? withoutAttempts(answer) : answer),
    })),
    ...{ isDetermined: isDetermined(program), met: happened.met, budget: happened.budget },
    begun: happened.begun
      .map(
        ({ runId, site }) =>
          `step ${site} of ${names.who(happened.runs.find((run) => run.runId === runId)!)}`,
      )
      .sort(),
    brokenPromises: brokenPromises(happened, program, numbering),
    disturbances: happened.runs.flatMap(disturbancesOf),
  };
}

function disturbancesOf(run: RunView): string[] {
  return run.events.flatMap((event) => {
    if (event.type === 'WORKFLOW_TASK_TIMED_OUT') return ['a turn was lost'];
    if (event.type === 'ACTIVITY_TASK_STARTED') {
      const { scheduledEventId, attempt, lastFailure } = event.attributes;
      return attemptLost(run, scheduledEventId, attempt - 1, lastFailure);
    }
    if (event.type === 'ACTIVITY_TASK_TIMED_OUT') {
      const { scheduledEventId, failure } = event.attributes;
      return attemptLost(run, scheduledEventId, failure.attempt ?? 1, failure);
    }
    return [];
  });
}

/** An attempt whose time was over although the program did not tell it to hang. */
function attemptLost(run: RunView, scheduledEventId: number, attempt: number, failure?: Failure): string[] {
  if (failure?.timeoutType !== 'HEARTBEAT' && failure?.timeoutType !== 'START_TO_CLOSE') return [];
  const scheduled = run.events[scheduledEventId - 1];
  if (scheduled?.type !== 'ACTIVITY_TASK_SCHEDULED') return [];
  const { does } = JSON.parse(scheduled.attributes.input[0] ?? 'null') as { does?: StepBehaviour };
  const isMeant = does?.kind === 'hang' && attempt <= does.times;
  return isMeant ? [] : [`attempt ${attempt} of ${scheduled.attributes.stepName} was lost`];
}

function observeRun(
  run: RunView,
  outcome: RunOutcome,
  numbering: Numbering,
  names: Names,
  actions: number,
  isBudgeted: boolean,
): ObservedRun {
  const sites = new Sites(run.events, numbering);
  const observed = new Map<HistoryEvent, ObservedEvent>();
  for (const event of run.own) {
    observed.set(event, {
      type: event.type,
      site: sites.of(event),
      meaning: names.replaceIn(meaningOf(event, isBudgeted)),
      number: numberOf(event),
    });
  }
  const cuts = [0, ...Array.from({ length: actions }, (_, index) => run.cuts[index] ?? 0), run.own.length];
  const phases = cuts.slice(1).map((end, index) => run.own.slice(cuts[index], end));
  const { workflowId, runId, trace, ...result } = JSON.parse(resultText(outcome)) as Record<string, unknown>;
  return {
    who: names.who(run),
    status: outcome.status,
    result: names.replaceIn(isBudgeted ? withoutAttempts(result) : result),
    phases: phases.map((events) => events.map((event) => observed.get(event)!)),
    firstTurns: phases.map((events) => firstTurn(run, events, observed)),
    brokenRules: brokenRules(run.events),
  };
}

/** What the first turn of a phase was given and what it asked for. */
function firstTurn(
  run: RunView,
  phase: readonly HistoryEvent[],
  observed: ReadonlyMap<HistoryEvent, ObservedEvent>,
): ObservedRun['firstTurns'][number] {
  const incoming: ObservedEvent[] = [];
  const commands: ObservedEvent[] = [];
  if (phase.length === 0) return { incoming, commands };
  const from = phase[0]!.id - 1;
  const isTurn = (event: HistoryEvent) => event.type === 'WORKFLOW_TASK_COMPLETED';
  // A phase that begins with what a turn has asked for was brought about by an update, which is no event by itself.
  const completed = COMMAND_EVENTS.has(phase[0]!.type)
    ? run.events.findLastIndex((event, at) => at < from && isTurn(event))
    : run.events.findIndex((event, at) => at >= from && isTurn(event));
  if (completed < 0) return { incoming, commands };
  // It delivers nothing: a cluster tells a run that a reset has made once more what the old one was told.
  if (run.events.slice(from, completed).some((event) => run.isOfBudget(event))) return { incoming, commands };
  for (const event of run.events.slice(from, completed)) {
    if (observed.has(event)) incoming.push(observed.get(event)!);
  }
  for (const event of run.events.slice(completed + 1)) {
    if (NOTES.has(event.type)) continue;
    if (!COMMAND_EVENTS.has(event.type)) break;
    commands.push(observed.get(event)!);
  }
  return { incoming, commands };
}
