/** The parts of the engine, as each of them sees the others. Put together once, in index.ts. */
import type { WorkflowSettings } from '../core/catalog.js';
import type { Clock } from '../core/clock.js';
import type { Limits } from '../core/limits.js';
import type { EngineObserver } from '../engine.js';
import type { GroupCommit } from './group-commit.js';
import type { Lifecycle } from './lifecycle.js';
import type { Listeners } from './listeners.js';
import type { Queries } from './queries.js';
import type { Relations } from './relations.js';
import type { Runs } from './runs.js';
import type { StepDelivery } from './step-delivery.js';
import type { Tables } from './tables.js';
import type { Turns } from './turns.js';
import type { Dispatcher } from './workers.js';

export interface Machine {
  readonly clock: Clock;
  readonly limits: Limits;
  readonly tables: Tables;
  readonly commit: GroupCommit;
  readonly runs: Runs;
  readonly dispatcher: Dispatcher;
  readonly lifecycle: Lifecycle;
  readonly relations: Relations;
  readonly steps: StepDelivery;
  readonly turns: Turns;
  readonly queries: Queries;
  readonly observer: EngineObserver;
  readonly listeners: Listeners;
  settingsOf(catalog: string, workflowType: string): WorkflowSettings;
}
