/**
 * What must hold of all runs together, after every commit and after every start: both sides of whatever concerns two
 * runs are there or none is, an id has one open run (I9), nothing that was committed changes or gets lost (I1, I3, I4),
 * and steps run when, and only when, the history says so (I6).
 */
import { CLOSE_EVENTS, type EventOf, type HistoryEvent } from '../../src/core/history/event.js';
import type { StepTask } from '../../src/core/task.js';
import type { ActiveRun } from '../../src/embedded/store/active-run.js';
import { checkCommit, problemsOnDisk } from '../../src/embedded/store/check/projection-check.js';
import type { RunRow } from '../../src/embedded/store/tables/run-row.js';
import type { Tables } from '../../src/embedded/store/tables/tables.js';
import { Ledger, type Touched } from './ledger.js';
import { REFUSED } from './program.js';
import { type RecordedChild, RunRecord, Violation } from './run-record.js';
import { Sendings } from './sendings.js';
import type { Instant } from './virtual-time.js';

type ChildEnd = EventOf<
  | 'CHILD_WORKFLOW_EXECUTION_COMPLETED'
  | 'CHILD_WORKFLOW_EXECUTION_FAILED'
  | 'CHILD_WORKFLOW_EXECUTION_TIMED_OUT'
>;

const attemptOf = ({ runId, scheduledEventId, attempt }: StepTask) =>
  `${runId}/${scheduledEventId}/${attempt}`;

/** The workers that are there, by their code. */
export interface Codes {
  isBlaming: boolean;
  isThere(codeId: string, forMs: number): boolean;
}

/** From the decision to its commit: on a disk that is full for as long as a plan may say. */
const COMMIT_MS = 6_000;

/** Reasons for which the engine itself ends runs. */
const OWN_REASONS = new Set(['the parent closed', 'the parent was reset']);

export class Oracle {
  readonly runs = new Map<string, RunRecord>();
  readonly ledger = new Ledger(this.runs);
  codes: Codes | undefined;
  /** Open runs by workflow id. */
  readonly #open = new Map<string, Set<RunRecord>>();
  readonly #startedAttempts = new Set<string>();
  readonly #completedAttempts = new Set<string>();
  /** Reasons of the calls that have asked for an end. */
  readonly terminations = new Set<string>();
  commits = 0;
  events = 0;
  openCount = 0;
  /** The latest that a clock has shown which was set since the last commit: a timer may have begun and ended in between. */
  #shownUncommitted = 0;
  /** Closed runs, with the children that have not heard of it yet. */
  readonly #toHear = new Map<RunRecord, Set<RecordedChild>>();
  /** In this commit. */
  readonly #closedNow = new Set<RunRecord>();
  readonly #sendings = new Sendings((workflowId) => this.#openRun(workflowId));

  /** After a commit, before anybody is told of it. */
  committed(tables: Tables, changed: ReadonlySet<ActiveRun>, at: Instant): void {
    // What is handed out together with a pause was handed out before it.
    for (const record of this.runs.values())
      record.pauseBefore = record.isPaused() ? record.pauses : undefined;
    this.commits++;
    checkCommit(tables, changed);
    const touched: Touched[] = [];
    for (const run of changed) {
      const record = this.#recordOf(run.state.runId, run.key);
      const events = tables.history.read(run.key, record.length);
      record.append(events, at, this.#shownUncommitted);
      // The engine goes on with these objects.
      record.receive(structuredClone(run.inbox.groups.flatMap((group) => group.events)));
      this.events += events.length;
      this.#index(record);
      touched.push({ record, events });
    }
    this.#shownUncommitted = 0;
    this.#check(tables, touched);
    this.ledger.committed(tables, touched);
  }

  /** The clock is about to be set. */
  clockShows(now: number): void {
    this.#shownUncommitted = Math.max(this.#shownUncommitted, now);
    for (const record of this.runs.values()) record.clockShows(now);
  }

  #check(tables: Tables, touched: readonly Touched[]): void {
    for (const { record, events } of touched) {
      this.#sendings.recorded(record, events);
      this.#checkOthers(record, events);
      this.#checkOpen(record.started.workflowId);
    }
    this.#checkChildrenOfClosed(tables);
    this.#sendings.check(tables);
    this.#closedNow.clear();
  }

  /**
   * What the next engine finds: all that was committed, as it was, and nothing else. Of a commit whose outcome was told to
   * nobody (`isUnclear`) all is there or nothing.
   */
  found(tables: Tables, rows: readonly RunRow[], commits: number, isUnclear: boolean, at: Instant): void {
    const more = commits - this.commits;
    if (more < 0) throw new Violation(`I4: the disk has ${commits} commits and had ${this.commits}`);
    if (more > (isUnclear ? 1 : 0))
      throw new Violation(`I4: ${more} commits are on the disk that nobody made`);
    const known = new Set(this.runs.keys());
    const touched: Touched[] = [];
    for (const row of rows) {
      known.delete(row.run_id);
      const problems = problemsOnDisk(tables, row);
      if (problems.length > 0) throw new Violation(`I15: run ${row.run_id}: ${problems.join('; ')}`);
      const record = this.#recordOf(row.run_id, row.key);
      const events = tables.history.read(row.key, 0);
      const inbox = tables.loadRun(row).inbox.groups.flatMap((group) => group.events);
      requirePrefix(record, events);
      if (more === 0) {
        const isSame =
          events.length === record.length && JSON.stringify(inbox) === JSON.stringify(record.inbox);
        if (!isSame) throw new Violation(`I1: run ${row.run_id} is not what was committed of it`);
        touched.push({ record, events: [] });
        continue;
      }
      const added = events.slice(record.length);
      record.append(added, at, this.#shownUncommitted);
      record.receive(inbox);
      this.#index(record);
      touched.push({ record, events: added });
    }
    for (const runId of known) throw new Violation(`I1: run ${runId} is gone`);
    const [orphan] = tables.orphans();
    if (orphan)
      throw new Violation(
        `I15: table ${orphan.table} has rows of run number ${orphan.runKey}, which is not there`,
      );
    this.#check(tables, touched);
    this.ledger.found(tables, touched, more > 0);
    this.commits = commits;
  }

  open(): RunRecord[] {
    return [...this.runs.values()].filter(({ closed }) => !closed);
  }

  /** The run of the id that was made last. */
  latest(workflowId: string): RunRecord | undefined {
    let latest: RunRecord | undefined;
    for (const record of this.runs.values()) {
      if (record.started.workflowId === workflowId && (!latest || record.key > latest.key)) latest = record;
    }
    return latest;
  }

  // ── steps ────────────────────────────────────────────────────────────────────────────────────────

  /** The engine sends an attempt: what it stands on must be on disk, and nobody may have closed the step. */
  attemptSent(task: StepTask): void {
    const record = this.runs.get(task.runId);
    const isOpen = record && !record.closed && record.isStepOpen(task.scheduledEventId);
    if (!isOpen)
      throw new Violation(`I6: attempt ${attemptOf(task)} is sent of a step that is not open on disk`);
    if (record.isPaused() && record.pauses === record.pauseBefore)
      throw new Violation(`paused: attempt ${attemptOf(task)} is sent while its run is paused`);
    if (this.#startedAttempts.has(attemptOf(task)))
      throw new Violation(`I6: attempt ${attemptOf(task)} is sent again`);
    this.ledger.attemptSent(task);
  }

  attemptStarted(task: StepTask): void {
    this.#startedAttempts.add(attemptOf(task));
  }

  attemptCompleted(task: StepTask): void {
    this.#completedAttempts.add(attemptOf(task));
  }

  // ── several runs ─────────────────────────────────────────────────────────────────────────────────

  #recordOf(runId: string, key: number): RunRecord {
    let record = this.runs.get(runId);
    if (!record) {
      record = new RunRecord(runId, key);
      this.runs.set(runId, record);
    }
    return record;
  }

  #index(record: RunRecord): void {
    const { workflowId } = record.started;
    let open = this.#open.get(workflowId);
    if (!open) {
      open = new Set();
      this.#open.set(workflowId, open);
    }
    const before = open.size;
    if (record.closed) open.delete(record);
    else open.add(record);
    this.openCount += open.size - before;
  }

  #checkOpen(workflowId: string): void {
    const open = this.#open.get(workflowId)!;
    if (open.size > 1) {
      throw new Violation(
        `I9: "${workflowId}" has the open runs ${[...open].map(({ runId }) => runId).join()}`,
      );
    }
  }

  #openRun(workflowId: string): RunRecord | undefined {
    for (const record of this.#open.get(workflowId) ?? []) return record;
    return undefined;
  }

  #checkOthers(record: RunRecord, events: readonly HistoryEvent[]): void {
    for (const event of events) {
      switch (event.type) {
        case 'ACTIVITY_TASK_COMPLETED': {
          if (event.id <= record.copiedUpTo) break;
          const { scheduledEventId, result } = event.attributes;
          const { attempt } = JSON.parse(result!) as { attempt: number };
          const key = `${record.runId}/${scheduledEventId}/${attempt}`;
          if (!this.#completedAttempts.has(key))
            throw new Violation(`I6: ${key} is recorded as completed and was not`);
          break;
        }
        case 'ACTIVITY_TASK_FAILED': {
          const { failure } = event.attributes;
          if (failure.type !== REFUSED || event.id <= record.copiedUpTo) break;
          if (this.codes?.isThere(failure.message, COMMIT_MS))
            throw new Violation(
              `code: run ${record.runId}: event ${event.id} fails a step that others refuse, and ${failure.message} is there`,
            );
          break;
        }
        case 'WORKFLOW_TASK_FAILED': {
          const { boundTo, runId } = record;
          if (event.attributes.cause !== 'NON_DETERMINISTIC_ERROR' || event.id <= record.copiedUpTo) break;
          if (boundTo === undefined || this.codes?.isBlaming !== false) break;
          if (this.codes.isThere(boundTo, COMMIT_MS))
            throw new Violation(
              `code: run ${runId} is held back (event ${event.id}), and ${boundTo} is there`,
            );
          break;
        }
        case 'CHILD_WORKFLOW_EXECUTION_COMPLETED':
        case 'CHILD_WORKFLOW_EXECUTION_FAILED':
        case 'CHILD_WORKFLOW_EXECUTION_TIMED_OUT':
          this.#mustHaveEndedSo(event, record.runId);
          break;
        case 'CHILD_WORKFLOW_EXECUTION_STARTED':
          this.#mustExist(event.attributes.workflowExecution.runId, `child of run ${record.runId}`);
          break;
        case 'EXTERNAL_WORKFLOW_EXECUTION_SIGNALED': {
          const target = this.#mustExist(
            event.attributes.workflowExecution.runId,
            `target of run ${record.runId}`,
          );
          const isThere = (sending: string) => sending.startsWith(`${record.runId}:`);
          if (
            event.attributes.initiatedEventId > record.copiedUpTo &&
            !target.signals.some(isThere) &&
            !target.signalsInInbox().some(isThere)
          ) {
            throw new Violation(
              `I11: run ${record.runId} has signalled run ${target.runId}, which knows nothing of it`,
            );
          }
          break;
        }
        default:
      }
    }
    // What holds in the commit that closes a run may change later: a child that was asked to stop may be retried.
    if (events.some(({ type }) => CLOSE_EVENTS.has(type))) this.#checkClosed(record);
  }

  #mustExist(runId: string, what: string): RunRecord {
    const record = this.runs.get(runId);
    if (!record) throw new Violation(`I15: run ${runId}, the ${what}, is not on disk`);
    return record;
  }

  /** The parent has heard what the child has said. */
  #mustHaveEndedSo({ type, attributes }: ChildEnd, parentId: string): void {
    const { runId } = attributes.workflowExecution;
    const { closed } = this.#mustExist(runId, `child of run ${parentId}`);
    const said = closed?.attributes as { result?: unknown; failure?: unknown } | undefined;
    const heard = attributes as { result?: unknown; failure?: unknown };
    const isSame =
      closed !== undefined &&
      closed.type.slice('WORKFLOW_'.length) === type.slice('CHILD_WORKFLOW_'.length) &&
      JSON.stringify([said!.result, said!.failure]) === JSON.stringify([heard.result, heard.failure]);
    if (!isSame)
      throw new Violation(
        `I15: run ${parentId} has heard ${type} of run ${runId}, which has ended otherwise`,
      );
  }

  #checkClosed(record: RunRecord): void {
    this.#closedNow.add(record);
    const { closed, successor, runId, started } = record;
    if (successor !== undefined) this.#mustExist(successor, `successor of run ${runId}`);
    const isReset = closed!.type === 'WORKFLOW_EXECUTION_TERMINATED' && successor !== undefined;
    if (successor !== undefined && !isReset && this.runs.get(successor)!.expiresAt !== record.expiresAt)
      throw new Violation(
        `limit: run ${successor} has another time limit than run ${runId}, which it follows`,
      );
    if (closed!.type === 'WORKFLOW_EXECUTION_TERMINATED' && !isReset) {
      const { reason } = closed!.attributes;
      if (!OWN_REASONS.has(reason) && !this.terminations.has(reason)) {
        throw new Violation(`model: run ${runId} is terminated (${reason}), which nobody asked for`);
      }
    }
    if (isReset) {
      const made = this.runs.get(successor!)!;
      const missing = record.signals.filter(
        (sending) => !made.hasSignal(sending) && !this.#hadBefore(made, sending),
      );
      if (missing.length > 0)
        throw new Violation(`I11: the reset of run ${runId} loses the signals ${missing.join()}`);
      this.#sendings.cutOff(record, this.#cutOffBy(made, record));
      return;
    }
    this.#toHear.set(record, new Set(record.children.values()));
    if (successor === undefined && started.parent) this.#checkParent(record);
  }

  /** Whether a run had the signal from which the one that was reset has gone on: what came before its start is not told again. */
  #hadBefore({ resetOf }: RunRecord, sending: string): boolean {
    let before = this.runs.get(resetOf ?? '')?.started.continuedExecutionRunId;
    while (before !== undefined) {
      const run = this.runs.get(before);
      if (run?.hasSignal(sending)) return true;
      before = run?.started.continuedExecutionRunId;
    }
    return false;
  }

  /** The children that end with the reset: all but those that the new run has, and those that are detached. */
  #cutOffBy({ children: kept }: RunRecord, { children }: RunRecord): RecordedChild[] {
    return [...children.values()].filter(
      ({ initiatedEventId, runId, policy }) =>
        runId !== undefined && policy !== 'ABANDON' && kept.get(initiatedEventId)?.runId !== runId,
    );
  }

  /** All have heard of it in the commit that closes their parent, or the disk says that some have not and a start goes on. */
  #checkChildrenOfClosed(tables: Tables): void {
    for (const [parent, children] of this.#toHear) {
      for (const child of children) if (!this.#goesOn(child)) children.delete(child);
      if (tables.closings.has(parent.key)) continue;
      this.#toHear.delete(parent);
      for (const { workflowId, policy } of children) {
        throw new Violation(
          `I15: run ${parent.runId} is closed, and its child ${workflowId} (${policy}) goes on`,
        );
      }
    }
  }

  #goesOn({ workflowId, runId, policy }: RecordedChild): boolean {
    if (policy === 'ABANDON' || runId === undefined) return false;
    const open = this.#openRun(workflowId);
    if (open?.started.firstExecutionRunId !== runId) return false;
    return !(policy === 'REQUEST_CANCEL' && this.#hasHeard(open));
  }

  /** It was asked to stop, or the run was that it has taken over from in this commit: one that fails then is retried as ever. */
  #hasHeard(record: RunRecord): boolean {
    const before = this.runs.get(record.started.continuedExecutionRunId ?? '');
    return (
      record.hasCancelRequest() ||
      (before !== undefined && this.#closedNow.has(before) && this.#hasHeard(before))
    );
  }

  /** The parent knows that the child has closed, in the same commit. */
  #checkParent({ runId, started }: RunRecord): void {
    const { parent, firstExecutionRunId } = started;
    for (const record of [this.runs.get(parent!.runId), this.#openRun(parent!.workflowId)]) {
      if (!record || record.closed) continue;
      const child = record.children.get(parent!.initiatedEventId);
      if (child?.runId !== firstExecutionRunId || record.isChildEnding(parent!.initiatedEventId)) continue;
      throw new Violation(`I15: run ${runId} is closed, and its parent ${record.runId} does not know`);
    }
  }
}

function requirePrefix({ runId, texts }: RunRecord, events: readonly HistoryEvent[]): void {
  if (events.length < texts.length) {
    throw new Violation(`I1: run ${runId} has ${events.length} events after a start and had ${texts.length}`);
  }
  const changed = texts.findIndex((text, at) => JSON.stringify(events[at]) !== text);
  if (changed >= 0)
    throw new Violation(`I3: event ${changed + 1} of run ${runId} is another one after a start`);
}
