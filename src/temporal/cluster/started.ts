/**
 * What this server knows of the runs that it has started itself, so that it need not ask the cluster for it once they have
 * closed. None of it can change while there is the run; what has been forgotten is asked for, as of any other run.
 */
import type { Payload } from '../../core/values/json.js';
import type { StartRequest } from '../../engine.js';
import { fromPayloads, toPayloads } from '../translate/payload.js';
import { BoundedMap } from './bounded-map.js';

export interface StartedRun {
  workflowType: string;
  catalog: string;
  input: Payload | undefined;
}

/** About what all that is remembered may take. */
const REMEMBERED_BYTES = 16 * 1024 * 1024;
/** Of a run beside its input: ids, names and the map's own. */
const RUN_BYTES = 400;

export class StartedRuns {
  readonly #runs = new BoundedMap<string, StartedRun>(
    REMEMBERED_BYTES,
    ({ input = '' }) => RUN_BYTES + 2 * input.length,
  );

  started(runId: string, { workflowType, catalog, input }: StartRequest): void {
    // As the cluster would give it back: ill-formed texts do not leave as they came.
    this.#runs.set(runId, { workflowType, catalog, input: fromPayloads(toPayloads(input))[0] });
  }

  get(runId: string): StartedRun | undefined {
    return this.#runs.get(runId);
  }
}
