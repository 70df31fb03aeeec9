/** What the routes share: the engine behind them and what bounds them. */
import type { Engine } from '../engine.js';
import type { Metrics } from '../telemetry/index.js';
import type { Traces } from '../trace/index.js';
import type { PayloadCheck } from './payload-check.js';
import type { StartTargets } from './start-target.js';
import type { Streams } from './stream/streams.js';
import type { Tickets } from './stream/tickets.js';
import type { Waits } from './waits.js';

export interface RouteContext {
  engine: Engine;
  defaultCatalog: string;
  targets: StartTargets;
  payloads: PayloadCheck;
  waits: Waits;
  /** Absent where no traces are kept. */
  traces: Traces | undefined;
  streams: Streams;
  metrics: Metrics;
  tickets: Tickets;
  isDraining(): boolean;
}

export const JSON_TYPE = 'application/json; charset=utf-8';
