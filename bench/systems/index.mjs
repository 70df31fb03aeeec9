// What is measured side by side. None of them may be tuned for this benchmark: each runs as its makers advise for one
// durable node, and bench/README.md says where they do.
import { bareGroup, bareSingle } from './bare.mjs';
import { dbos } from './dbos.mjs';
import { openworkflow } from './openworkflow.mjs';
import { perdure } from './perdure.mjs';
import { restate } from './restate.mjs';
import { temporal } from './temporal.mjs';

export const SYSTEMS = [perdure, bareGroup, bareSingle, restate, dbos, temporal, openworkflow];
