/** What the routes share: the engine behind them and what bounds them. */
import type { Engine } from '../engine.js';
import type { StartTargets } from './start-target.js';
import type { Waits } from './waits.js';

export interface RouteContext {
  engine: Engine;
  defaultCatalog: string;
  targets: StartTargets;
  waits: Waits;
  isDraining(): boolean;
}

export const JSON_TYPE = 'application/json; charset=utf-8';
