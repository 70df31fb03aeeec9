// Every scenario, in the order in which a run of all of them takes them.
import { fanOut } from './fan-out.mjs';
import { footprint } from './footprint.mjs';
import { historyPage } from './history-page.mjs';
import { longRun } from './long-run.mjs';
import { messages } from './messages.mjs';
import { replay } from './replay.mjs';
import { runList } from './run-list.mjs';
import { start } from './start.mjs';
import { startUp } from './start-up.mjs';
import { streams } from './streams.mjs';
import { sync } from './sync.mjs';
import { temporalEngine } from './temporal-engine.mjs';
import { timers } from './timers.mjs';
import { traces } from './traces.mjs';

export const SCENARIOS = [
  sync,
  start,
  fanOut,
  messages,
  historyPage,
  runList,
  streams,
  timers,
  startUp,
  footprint,
  replay,
  longRun,
  traces,
  temporalEngine,
];
