/** Why each of many runs is where it is, in a sentence, as far as that can be found out in the time of a list. */
import type { Engine, RunRef } from '../engine.js';

/** How many runs are asked about at a time: each may cost an engine some calls. */
const AT_ONCE = 20;
/** A list is waited for by a person; what is not known by then is left open. */
const WITHIN_MS = 3_000;

/** In the order of the runs; null where it could not be found out. */
export async function summariesOf(engine: Engine, runs: readonly RunRef[]): Promise<(string | null)[]> {
  const summaries = runs.map((): string | null => null);
  let next = 0;
  let isOver = false;
  const ask = async () => {
    while (next < runs.length && !isOver) {
      const at = next++;
      const { workflowId, runId } = runs[at]!;
      // A run that retention has removed, or that is set apart, does not take the list away from the others.
      const why = await engine.why({ workflowId, runId }).catch(() => undefined);
      if (!isOver) summaries[at] = why?.summary ?? null;
    }
  };
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, WITHIN_MS);
  });
  await Promise.race([Promise.all(Array.from({ length: Math.min(AT_ONCE, runs.length) }, ask)), late]);
  isOver = true;
  clearTimeout(timer);
  return summaries;
}
