/** Makes the parts and tells them of each other: who knows whom is read off here. */

import { DEFAULT_LIMITS } from '../core/bounds/limits.js';
import { systemClock, systemScheduler } from '../core/clock.js';
import { unreachable } from '../core/invariant.js';
import { silentLog } from '../core/log.js';
import { systemIds } from '../core/values/id.js';
import { Controlling } from './calls/controlling.js';
import { Guard } from './calls/guard.js';
import { Messages } from './calls/messages.js';
import { Reading } from './calls/reading.js';
import { Reset } from './calls/reset.js';
import { Spending } from './calls/spending.js';
import { Starting } from './calls/starting.js';
import { AttemptReports } from './delivery/attempt-reports.js';
import { BegunTurns } from './delivery/begun-turns.js';
import { HeldBackRuns } from './delivery/held-back.js';
import { Queries } from './delivery/queries.js';
import { Sessions } from './delivery/sessions.js';
import { StepCosts } from './delivery/step-costs.js';
import { StepEndings } from './delivery/step-endings.js';
import { StepQueue } from './delivery/step-queue.js';
import { StepDelivery } from './delivery/steps.js';
import { TurnRecord } from './delivery/turn-record.js';
import { Turns } from './delivery/turns.js';
import type { Kernel } from './kernel.js';
import { Closings } from './life/closings.js';
import { Damage } from './life/damage.js';
import { Lifecycle } from './life/lifecycle.js';
import { Outbox } from './life/outbox.js';
import { Piecemeal } from './life/piecemeal.js';
import { Purses } from './life/purses.js';
import { Relations } from './life/relations.js';
import type { EmbeddedEngineOptions } from './options.js';
import { CallbackKey } from './store/callback-key.js';
import { Catalogs } from './store/catalogs.js';
import { FreeSpace, freeBytesOf } from './store/folder/free-space.js';
import { Listeners } from './store/listeners.js';
import { Runs } from './store/runs.js';
import { StartsPerMinute } from './store/starts-per-minute.js';
import { openStore, type Store } from './store/store.js';
import { Trees } from './store/trees.js';
import { Deployments } from './upkeep/deployments.js';
import { Payments } from './upkeep/payments.js';
import { Recovery } from './upkeep/recovery.js';
import { Retention } from './upkeep/retention.js';
import { Unattended } from './upkeep/unattended.js';
import { Waking } from './upkeep/waking.js';
import { Dispatcher, type QueuedTask } from './workers/dispatcher.js';
import type { WorkerConnection } from './workers/worker-connection.js';

export type Parts = ReturnType<typeof makeParts>;

/** The store is handed out before anything else is made: what fails from then on must not keep the folder. */
export function makeParts(
  options: EmbeddedEngineOptions,
  onOpened: (store: Store) => void,
  onFailed: (error: Error) => void,
) {
  const { dataDir, log = silentLog, observer = {}, inspectCommit, connect, publicUrl } = options;
  const { clock = systemClock, scheduler = systemScheduler, ids = systemIds } = options;
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const freeBytes =
    options.freeBytes ??
    (() => (typeof dataDir === 'string' ? freeBytesOf(dataDir) : Number.POSITIVE_INFINITY));
  const spareBytes = () => freeBytes() - limits.lowWaterBytes;
  const store = openStore(
    { dataDir, clock, scheduler, log, observer, inspectCommit, connect, spareBytes },
    {
      // A turn is made while the disk is waited for, and a step at once when its commit has been made.
      begins: () => sessions.flush(),
      committed: (runs) => {
        reading.committed(runs);
        waking.committed(runs);
        kernel.runs.settle(runs);
        sessions.flush();
      },
      leftOut: (runs) => {
        for (const [{ key, state }, error] of runs) {
          const { workflowId, runId } = state;
          kernel.runs.setApart({ workflowId, runId, key }, error.message);
        }
      },
      failed: onFailed,
      full: (isFull) => {
        if (isFull) {
          queries.diskIsFull();
          log.error(
            {},
            'the disk is full: starts and messages are refused, nothing is lost, and it is tried again every second',
          );
        } else log.info({}, 'there is space on the disk again: what waited has been written');
      },
    },
  );
  onOpened(store);
  const { tables, commit, settledTime } = store;
  const space = new FreeSpace(freeBytes, limits.lowWaterBytes, scheduler, log);
  const catalogs = new Catalogs(tables, commit, clock);
  const callbackKey = new CallbackKey(tables, commit, ids);
  const kernel: Kernel = {
    clock,
    settledTime,
    scheduler,
    ids,
    limits,
    log,
    tables,
    commit,
    runs: new Runs(
      tables,
      { runs: limits.cachedRuns, bytes: limits.cachedBytes },
      (run) => recovery.loaded(run),
      (run) => {
        outbox.taken(run);
        closings.taken(run);
      },
      (damaged) => {
        damage.setApart(damaged);
        reading.setApart(damaged.runId);
      },
    ),
    trees: new Trees(clock, tables.runs.openDescendants()),
    chains: new StartsPerMinute(clock),
    dispatcher: new Dispatcher(scheduler, {
      give: (task, worker, isSuspect) => damage.contain(() => handOut(task, worker, isSuspect)),
      fitsNobody: (task) => damage.contain(() => fitsNobody(task)),
    }),
    observer,
    listeners: new Listeners(),
    settingsOf: (catalog, type) => catalogs.settingsOf(catalog, type),
  };
  const lifecycle = new Lifecycle(kernel);
  const relations = new Relations(kernel, lifecycle);
  const purses = new Purses(kernel);
  const reports = new AttemptReports(kernel);
  const stepQueue = new StepQueue(kernel);
  const stepEndings = new StepEndings(kernel, lifecycle, stepQueue, reports);
  const steps = new StepDelivery(
    kernel,
    lifecycle,
    stepQueue,
    stepEndings,
    new BegunTurns(kernel),
    purses,
    new StepCosts(kernel, purses),
    reports,
  );
  const damage = new Damage(kernel, lifecycle, (run) => steps.stopAll(run), log);
  const piecemeal = new Piecemeal(kernel, damage);
  const closings = new Closings(kernel, lifecycle, damage, piecemeal);
  const outbox = new Outbox(kernel, lifecycle, relations, closings, damage, piecemeal);
  const queries = new Queries(kernel, lifecycle);
  const heldBack = new HeldBackRuns(kernel, lifecycle, queries);
  const record = new TurnRecord(kernel, lifecycle, relations, stepQueue, steps, heldBack, outbox);
  const turns = new Turns(kernel, lifecycle, queries, record, heldBack, outbox);
  lifecycle.onClosed(({ run }) => steps.stopAll(run));
  lifecycle.onResumed((run) => stepQueue.resumed(run));
  lifecycle.onClosed((closed) => closings.closed(closed));
  lifecycle.onClosed((closed) => relations.closed(closed));
  const reading = new Reading(kernel);
  const waking = new Waking(kernel, lifecycle, steps, heldBack, damage);
  const recovery = new Recovery(kernel, lifecycle, relations, stepQueue, stepEndings, heldBack, damage);
  const deployments = new Deployments(kernel, heldBack, damage, piecemeal);
  const payments = new Payments(kernel, lifecycle, purses, damage, piecemeal);
  const guard = new Guard(kernel, space, damage);

  function handOut(task: QueuedTask, worker: WorkerConnection, isSuspect: boolean): string | undefined {
    switch (task.kind) {
      case 'turn':
        return turns.handOut(task.runId, worker, isSuspect);
      case 'query':
        return queries.handOut(task.runId, worker, isSuspect);
      case 'step':
        return steps.handOut(task.runId, task.scheduledEventId, worker, isSuspect);
      default:
        return unreachable(task);
    }
  }

  function fitsNobody(task: QueuedTask): void {
    const { kind, runId } = task;
    if (kind === 'turn') turns.fitsNobody(runId);
    else if (kind === 'query') queries.fitsNobody(runId);
    else steps.fitsNobody(runId, task.scheduledEventId);
  }

  const sessions = new Sessions(
    kernel,
    turns,
    steps,
    catalogs,
    piecemeal,
    () => ({
      ...{ kind: 'welcome', callbackKey: callbackKey.get() },
      ...(publicUrl !== undefined && { publicUrl }),
    }),
    (worker, catalog) => deployments.came(worker, catalog),
  );
  return {
    store,
    kernel,
    guard,
    catalogs,
    callbackKey,
    steps,
    damage,
    reading,
    waking,
    recovery,
    piecemeal,
    closings,
    outbox,
    payments,
    retention: new Retention(kernel, damage),
    unattended: new Unattended(kernel, catalogs, log),
    sessions,
    starting: new Starting(kernel, guard, lifecycle, purses),
    controlling: new Controlling(kernel, guard, lifecycle, catalogs),
    messages: new Messages(kernel, lifecycle, queries),
    reset: new Reset(kernel, lifecycle, relations, stepQueue, outbox, closings),
    spending: new Spending(kernel, guard, lifecycle, purses, payments),
  };
}
