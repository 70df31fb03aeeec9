/**
 * Programs: what a generated workflow does, as data.
 *
 * A program is the input of the interpreter (workflows/program), which every engine's workers run, and the script is
 * what happens to it from outside. Both are plain JSON, so that a program can be printed, shrunk and run again.
 *
 * Time decides nothing. Whatever could end first in one run and second in the next is arranged so that it cannot:
 * 1. Nothing races. Of things that end each other, all but one wait for ever (`decide`, `limit`), or the one that
 *    decides waits for `go` first, which comes when everything else is at rest.
 * 2. The script plays an action only when no run of the family can do anything more by itself, and a `go` wakes one
 *    statement only.
 */

export interface Program {
  /** The definition that runs the body: plain, or with a retry policy. */
  workflow: 'program' | 'retried';
  body: Block;
  script: Action[];
  budget?: ProgramBudget;
}

/**
 * What the family may spend. Where it is met somebody waits for it, and is paid for before the script goes on: which
 * steps were under way then is a matter of time, and so is who waits. Where nothing happens side by side both are
 * determined (budgets.ts), and something else happens first.
 */
export interface ProgramBudget {
  amount: string;
  currency: string;
  /** What is done about it each time that somebody waits; where there is no more of it, there is enough for all. */
  raises: Raise[];
  meanwhile?: Action;
}

/** Set to what is spent, which does not suffice; to the last unit more than that; or to more than anybody spends. */
export type Raise = 'toSpent' | 'byLastUnit' | 'enough';

export type Block = Statement[];

/** `site` is the statement's number in the program, `ms` a duration that no other statement has (numbering.ts). */
export type Statement = { site?: number; ms?: number } & (
  | { op: 'step'; step: StepName; does: StepBehaviour; spends?: Spending[] }
  /** A step that is under way until the script releases it, or until it is cancelled. */
  | { op: 'hold'; cancellation: 'try' | 'wait' | 'abandon'; spends?: Spending[] }
  | { op: 'sleep'; long: boolean }
  /** For the next `go`. A short timeout always passes first, a long one never does. */
  | { op: 'wait'; timeout: 'none' | 'short' | 'long' }
  | { op: 'never' }
  /** Waits for what is posted for the callback of this statement; `checked` takes only what fits a schema. */
  | { op: 'callback'; checked: boolean }
  | {
      op: 'child';
      workflow: ChildWorkflow;
      id: 'generated' | 'given' | 'taken' | 'twice';
      detached: boolean;
      body: Block;
    }
  /** A detached child that is not awaited, and is sent something once it is at rest. */
  | { op: 'partner'; sends: 'signal' | 'cancel' | 'nothing'; body: Block }
  /** Nothing waits for the signal: when it comes decides nothing. */
  | { op: 'external'; target: 'nobody' | 'self'; act: 'signal' | 'cancel' }
  | { op: 'external'; target: 'parent'; act: 'signal' }
  | { op: 'gather'; how: 'settled' | 'jobs'; concurrency: number; branches: Block[] }
  /** `others` end in a wait for ever; `led` makes the decider wait for them to be at rest. */
  | { op: 'decide'; how: 'all' | 'race'; led: boolean; decider: Block; others: Block[] }
  | { op: 'scope'; shielded: boolean; cancel: 'never' | 'atOnce' | 'led'; body: Block }
  /** `CancellationScope.withTimeout`: over waits when it is short, over anything when it is long. */
  | { op: 'limit'; long: boolean; body: Block }
  | { op: 'try'; body: Block; caught?: Block; cleanup?: Block; shielded: boolean }
  /** Only in attempts of the workflow before `untilAttempt`, where that is given. */
  | { op: 'throw'; error: ErrorSpec; untilAttempt?: number }
  | { op: 'return'; value: Value }
  /** Starts a child that is not awaited, and returns once it is at rest. */
  | { op: 'leave'; detached: boolean; body: Block }
  | { op: 'continue'; body: Block }
  | { op: 'patch'; deprecated: boolean }
  | { op: 'random' }
);

export type ChildWorkflow = 'program' | 'retried' | 'timed';
export type StepName = 'act' | 'actOnce' | 'actListed' | 'actLater' | 'slow' | 'silent' | 'strict';

export type StepBehaviour =
  | { kind: 'return'; value: Value }
  /** Fails that many attempts, then returns the number of the attempt. */
  | { kind: 'fail'; times: number; error: ErrorSpec }
  /** Tells how far it came and fails once; the next attempt returns what it was left. */
  | { kind: 'beat' }
  /** Waits for its AbortSignal for that many attempts. */
  | { kind: 'hang'; times: number };

/** What every attempt of a step says first that it has spent. */
export interface Spending {
  amount: number | string;
  currency?: string;
  kind?: string;
  label?: string;
  usage?: Record<string, number>;
}

export interface ErrorSpec {
  as:
    | 'Error'
    | 'TypeError'
    | 'ListedError'
    | 'QuietError'
    | 'FatalError'
    /** Tried again after a moment, or at once when the message has an even length; thrown by a workflow it is as others. */
    | 'RetryAfterError'
    | 'ValidationError'
    | 'CancelledError'
    | 'object'
    | 'string';
  message: string;
  properties?: Record<string, unknown>;
  cause?: ErrorSpec;
}

/** A value, also of the kinds that JSON does not have. */
export type Value =
  | { json: unknown }
  | { odd: 'undefined' | 'nan' | 'bigint' | 'date' | 'map' | 'hole' | 'property' };

/** What happens from outside. `at` picks one of the workflows that are open, by the order in which they were called. */
export type Action = { at: number } & ActionAnywhere;

export type ActionAnywhere =
  | { do: 'go' }
  /** Handled by code that does things; its errors fail the run. */
  | { do: 'signal'; body: Block }
  | { do: 'update'; refuse?: ErrorSpec; body: Block }
  | { do: 'unknownUpdate' }
  /** Posted for the callback of one of the program's statements, which that workflow need not have made. */
  | { do: 'callback'; which: number; posts: 'fitting' | 'odd' | 'nothing' }
  | { do: 'query'; how: 'state' | 'throw' | 'act' | 'unknown' }
  | { do: 'release'; how: 'return' | 'throw' }
  /** Something happens to the run while it is paused, and then it is resumed. */
  | { do: 'pause'; meanwhile: 'nothing' | 'go' | 'release' | 'query' | 'cancel' | 'raise' }
  | { do: 'resume' }
  | { do: 'cancel' }
  | { do: 'terminate' }
  /** The first workflow begins anew, unless it has called others. */
  | { do: 'reset' }
  | { do: 'raise'; raise: Raise };

/** What the interpreter is given. */
export interface ProgramInput {
  /** Where its steps wait to be released. */
  holds: string;
  /** The id of the first workflow of the family: children's ids are made of it. */
  root: string;
  /** Attempts of its steps say that they have begun. */
  isBudgeted: boolean;
  site: number;
  body: Block;
}

/** The blocks inside a statement, by what they mean: whether they run beside each other and beside what follows. */
export interface Part {
  block: Block;
  name: string;
  /** Other parts of the statement, or what comes after it, may run at the same time. */
  beside: boolean;
}

export function partsOf(statement: Statement): Part[] {
  switch (statement.op) {
    case 'child':
      return [{ block: statement.body, name: 'body', beside: false }];
    case 'partner':
    case 'leave':
      return [{ block: statement.body, name: 'body', beside: true }];
    case 'gather':
      return statement.branches.map((block, index) => ({ block, name: `branch${index}`, beside: false }));
    case 'decide':
      return [
        { block: statement.decider, name: 'decider', beside: false },
        ...statement.others.map((block, index) => ({ block, name: `other${index}`, beside: true })),
      ];
    case 'scope':
    case 'limit':
    case 'continue':
      return [{ block: statement.body, name: 'body', beside: false }];
    case 'try':
      return [
        { block: statement.body, name: '1 body', beside: false },
        ...(statement.caught ? [{ block: statement.caught, name: '2 caught', beside: false }] : []),
        ...(statement.cleanup ? [{ block: statement.cleanup, name: '3 cleanup', beside: false }] : []),
      ];
    default:
      return [];
  }
}

export function blockOf(action: Action): Block {
  return action.do === 'signal' || action.do === 'update' ? action.body : [];
}
