/** What the routes share: the engine behind them and what bounds them. */
import type { Engine } from '../engine.js';
import type { Metrics } from '../telemetry/index.js';
import type { Traces } from '../trace/index.js';
import type { Arrivals } from './door/arrivals.js';
import type { Bodies } from './door/bodies.js';
import type { Callbacks } from './door/callbacks.js';
import type { Waits } from './door/waits.js';
import type { StartTargets } from './start-target.js';
import type { Streams } from './stream/streams.js';
import type { Tickets } from './stream/tickets.js';
import type { PayloadCheck } from './wire/payload-check.js';

export interface RouteContext {
  engine: Engine;
  defaultCatalog: string;
  targets: StartTargets;
  payloads: PayloadCheck;
  waits: Waits;
  bodies: Bodies;
  arrivals: Arrivals;
  callbacks: Callbacks;
  /** How long `run` waits if its caller does not say. */
  runTimeoutMs: number;
  /** Absent where no traces are kept. */
  traces: Traces | undefined;
  streams: Streams;
  metrics: Metrics;
  tickets: Tickets;
  isDraining(): boolean;
}

export const JSON_TYPE = 'application/json; charset=utf-8';
