/** Where the trace of a run is, told to the caller who has waited for the run. */
import type { RunOutcome } from '../engine.js';
import type { RouteContext } from './context.js';

/** The outcome with its trace, if that is there soon: it is written once the run has closed, which is this very moment. */
export function withTrace(
  { traces }: Pick<RouteContext, 'traces'>,
  outcome: RunOutcome,
): RunOutcome | Promise<RunOutcome> {
  if (!traces || outcome.trace) return outcome;
  return traces.soon(outcome).then((trace) => ({ ...outcome, trace }));
}
