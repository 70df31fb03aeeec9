/** What every part of the engine stands on: time, ids, bounds, the store, and the workers. None of it knows the parts. */

import type { Limits } from '../core/bounds/limits.js';
import type { WorkflowSettings } from '../core/catalog.js';
import type { Clock, Scheduler } from '../core/clock.js';
import type { Log } from '../core/log.js';
import type { Ids } from '../core/values/id.js';
import type { EngineObserver } from '../engine.js';
import type { GroupCommit } from './store/group-commit.js';
import type { Listeners } from './store/listeners.js';
import type { Runs } from './store/runs.js';
import type { SettledTime } from './store/settled-time.js';
import type { StartsPerMinute } from './store/starts-per-minute.js';
import type { Tables } from './store/tables/tables.js';
import type { Trees } from './store/trees.js';
import type { Dispatcher } from './workers/dispatcher.js';

export interface Kernel {
  readonly clock: Clock;
  /** For what cannot be undone. */
  readonly settledTime: SettledTime;
  readonly scheduler: Scheduler;
  readonly ids: Ids;
  readonly limits: Limits;
  readonly log: Log;
  readonly tables: Tables;
  readonly commit: GroupCommit;
  readonly runs: Runs;
  readonly trees: Trees;
  /** By the first run of a chain: the runs that went on with it. */
  readonly chains: StartsPerMinute;
  readonly dispatcher: Dispatcher;
  readonly observer: EngineObserver;
  readonly listeners: Listeners;
  settingsOf(catalog: string, workflowType: string): WorkflowSettings;
}
