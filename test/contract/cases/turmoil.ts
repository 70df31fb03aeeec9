import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { type Run, type Stage, unique } from '../stage.js';

/** Said when the engine or a worker cannot answer just now, or the run is not one that takes the call. */
const EXPECTED_ERRORS = new Set([
  'EngineUnavailableError',
  'HandlerNotFoundError',
  'StepNotCompletedError',
  'StepNotFoundError',
  'TooManyRequestsError',
  'UpdateFailedError',
  'UpdateRejectedError',
  'WorkflowAlreadyClosedError',
]);

/** How long an answer is waited for that may be an update of a paused run, which comes when that is resumed. */
const PAUSED_UPDATE_MS = 100;

const CALLS = 1_000;
const KILL_EVERY = 190;
const RESTART_EVERY = 310;
const SEED = 20_261_115;

/** Calls of every kind at random, while workers are killed and the engine is restarted; what must hold holds after it. */
export function turmoilCases(stage: Stage, calls = CALLS): void {
  const random = sequence(SEED);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;

  /** Runs that come to their end by themselves, and others that wait for what they are sent. */
  function someWorkflow(place: { ledger: string; key: string }): [type: string, input: unknown] {
    return pick<[string, unknown]>([
      ['serialSteps', { ...place, count: 5 }],
      ['parallelSteps', { ...place, count: 8 }],
      ['manyChildren', 5],
      ['countsDown', { left: 4 }],
      ['timerOrder', undefined],
      ['triedAgain', { ...place, failures: 2 }],
      ['someJobsFail', place],
      ['outOfTimeInChain', 0],
      ['collects', undefined],
      ['sums', { target: 7 }],
      ['account', place],
      ['signalBesideStep', place],
      ['threeSteps', { ...place, ending: 'wait' }],
      ['parent', { how: 'wait' }],
      ['cleansUp', place],
      ['asyncHandlers', place],
      ['leavesChild', { workflowId: unique('child'), detached: random() < 0.5 }],
    ]);
  }
  const endsByItself = new Set(['serialSteps', 'parallelSteps', 'manyChildren', 'countsDown', 'timerOrder']);

  function someCall(run: Run): Promise<unknown> {
    const kind = random();
    if (kind < 0.3)
      return run.signal(pick(['add', 'finish', 'end']), pick<unknown>([1, 2, 'return', 'throw']));
    if (kind < 0.45) return run.query(pick(['seen', 'state', 'signals', 'sum']));
    if (kind < 0.5) return run.pause();
    if (kind < 0.6) return run.resume();
    if (kind < 0.7) return explained(run);
    if (kind < 0.8)
      return run.update(pick(['withdraw', 'deposit', 'order', 'total', 'stumble', 'closing']), 3);
    if (kind < 0.86) return run.cancel();
    if (kind < 0.91) return run.terminate();
    return stage.engine.reset(run.latest, { stepName: pick(['note', 'noteBefore', 'noteAfter']) });
  }

  /** There is a reason for everything, at every moment. */
  async function explained(run: Run): Promise<void> {
    const { status, summary, reasons } = await stage.engine.why(run.pinned);
    expect(reasons.length, `${run.workflowId} is ${status} for no reason`).toBeGreaterThan(0);
    expect(summary).not.toBe('');
    expect(reasons.some(({ code }) => code === 'closed')).toBe(status !== 'running');
  }

  describe(`in turmoil (seed ${SEED})`, () => {
    test('every caller is answered, with nothing but what may be said', async () => {
      const place = stage.place();
      const runs: Run[] = [];
      const answers: Promise<unknown>[] = [];
      const unexpected: string[] = [];
      for (let count = 1; count <= calls; count++) {
        if (count % 3 === 1) runs.push(await stage.start(...someWorkflow(place)));
        const call = someCall(pick(runs.slice(-40))).catch((error: Error) => {
          if (!EXPECTED_ERRORS.has(error.name)) unexpected.push(`${error.name}: ${error.message}`);
        });
        answers.push(call);
        // Now and then somebody waits, so that what is under way gets somewhere.
        if (count % 5 === 0) await Promise.race([call, sleep(PAUSED_UPDATE_MS)]);
        if (count % KILL_EVERY === 0)
          for (const pid of stage.system.workerPids()) process.kill(pid, 'SIGKILL');
        if (count % RESTART_EVERY === 0) await stage.system.restartEngine();
      }
      // What a pause holds up, updates among it, comes to its end.
      await Promise.all(runs.map((run) => run.resume().catch(() => undefined)));
      await Promise.all(answers);
      expect(unexpected).toEqual([]);
      for (const run of runs) {
        const { workflowType } = await run.describe();
        // The one that a reset has made of it was never paused.
        if (endsByItself.has(workflowType)) await run.finalOutcome();
      }
      await Promise.all(runs.map(explained));
    });
  });
}

/** Numbers in [0, 1): the same ones for the same seed. */
function sequence(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
