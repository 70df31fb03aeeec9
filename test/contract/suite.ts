/**
 * The contract: every case that an engine must pass, registered for one engine and one way of running its workers.
 *
 * Most cases share one system and run side by side, each with ids of its own. Those that disturb others (by stopping
 * workers, deploying other code, killing processes, lowering limits) have a system to themselves and take turns.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { isAlive } from '../is-alive.js';
import { afterwardsCases } from './cases/afterwards.js';
import { authorFunctionCases } from './cases/author-functions.js';
import { authoringCases } from './cases/authoring.js';
import { callbackCases } from './cases/callbacks.js';
import { cancellationCases } from './cases/cancellation.js';
import { childCases } from './cases/children.js';
import { continueAsNewCases } from './cases/continue-as-new.js';
import { costCases } from './cases/costs.js';
import { deploymentCases } from './cases/deployments.js';
import { determinismCases } from './cases/determinism.js';
import { durabilityCases } from './cases/durability.js';
import { historyCases } from './cases/history.js';
import { isolationCases } from './cases/isolation.js';
import { LOW_LIMITS, limitCases, STEP_SLOTS } from './cases/limits.js';
import { meddlingCases } from './cases/meddling.js';
import { outcomeCases } from './cases/outcomes.js';
import { pausingCases } from './cases/pausing.js';
import { policyCases } from './cases/policies.js';
import { queryCases } from './cases/queries.js';
import { resetCases } from './cases/reset.js';
import { resetChildrenCases } from './cases/reset-children.js';
import { sideBySideCases } from './cases/side-by-side.js';
import { signalCases } from './cases/signals.js';
import { startCases } from './cases/start.js';
import { stepEndingCases } from './cases/step-endings.js';
import { stepCases } from './cases/steps.js';
import { timerCases } from './cases/timers.js';
import { turmoilCases } from './cases/turmoil.js';
import { updateCases } from './cases/updates.js';
import { whyCases, whyWorkersAwayCases } from './cases/why.js';
import { workersAwayCases } from './cases/workers-away.js';
import { Ledger } from './ledger.js';
import { type Skips, skipByName } from './skips.js';
import { deployment, Stage, WAIT_MS } from './stage.js';
import type { StartSystem, System, SystemOptions } from './system.js';

type Cases = (stage: Stage) => void;

/** For cases in which several workers are lost and replaced before a run can go on. */
const PATIENT_MS = 100_000;

const SIDE_BY_SIDE: Cases[] = [
  startCases,
  outcomeCases,
  stepCases,
  stepEndingCases,
  timerCases,
  signalCases,
  queryCases,
  updateCases,
  cancellationCases,
  resetCases,
  resetChildrenCases,
  continueAsNewCases,
  childCases,
  authoringCases,
  policyCases,
  determinismCases,
  meddlingCases,
  historyCases,
  authorFunctionCases,
  callbackCases,
  pausingCases,
  whyCases,
  costCases,
];

/** Every case. */
export function contract(startSystem: StartSystem, cacheSize: number): void {
  contractOfRuns(startSystem, cacheSize);
  contractOfProcesses(startSystem, cacheSize);
  contractOfTurmoil(startSystem, cacheSize);
}

/** What may happen to the processes around runs, to the code they are made of and to what they may use. */
export function contractOfProcesses(startSystem: StartSystem, cacheSize: number, skips: Skips = {}): void {
  const onSystem = systems(startSystem, cacheSize);
  skipByName(skips);

  describe('on a system whose workers come and go', () => {
    onSystem({ limits: { messageTimeoutMs: 500 } }, [workersAwayCases, whyWorkersAwayCases]);
  });

  describe('on a system whose code changes', () => {
    onSystem({ directory: deployment('first') }, [deploymentCases, sideBySideCases]);
  });

  describe('on a system that restarts', () => onSystem({}, [durabilityCases]));

  describe('on a system with low limits', () => {
    onSystem({ limits: LOW_LIMITS, stepSlots: STEP_SLOTS }, [limitCases]);
  });

  describe('on a system with hostile code', () => {
    onSystem(
      { directory: deployment('hostile'), turnTimeoutMs: 1_000, maxHeapMb: 128 },
      [isolationCases],
      PATIENT_MS,
    );
  });

  describe('on a system with the older form of results', () => {
    onSystem({ resultFormat: 'legacy' }, [
      (stage) =>
        test('a run keeps the form of the worker that executed it', async () => {
          const completed = await stage.start('echo', 5);
          expect(await completed.outcome()).toMatchObject({
            status: 'completed',
            output: '5',
            format: 'legacy',
          });
          const failed = await stage.start('throws', 'custom');
          expect(await failed.outcome()).toMatchObject({ status: 'failed', format: 'legacy' });
        }),
    ]);
  });
}

/** The cases that leave their system alone: what runs do, without what may happen to the processes around them. */
export function contractOfRuns(startSystem: StartSystem, cacheSize: number, skips: Skips = {}): void {
  const onSystem = systems(startSystem, cacheSize);
  skipByName(skips);
  describe('on one system', () => {
    const sideBySide: Cases = (stage) =>
      describe.concurrent('side by side', () => {
        for (const register of SIDE_BY_SIDE) register(stage);
      });
    // All others are under way on the same worker, on a machine that may be busy.
    onSystem({ limits: { messageTimeoutMs: WAIT_MS } }, [sideBySide, afterwardsCases]);
  });
}

/** Workers and messages that come at any time. */
export function contractOfTurmoil(startSystem: StartSystem, cacheSize: number, calls?: number): void {
  describe('on a system that is tormented', { timeout: 240_000 }, () => {
    const turmoil: Cases = (stage) => turmoilCases(stage, calls);
    systems(startSystem, cacheSize)({}, [turmoil, afterwardsCases], PATIENT_MS);
  });
}

/** Some of the cases that leave their system alone, as many of their files as are wanted, from a place of the list on. */
export function contractOfSome(
  startSystem: StartSystem,
  cacheSize: number,
  from: number,
  count: number,
): void {
  const chosen = Array.from(
    { length: count },
    (_, index) => SIDE_BY_SIDE[(from + index) % SIDE_BY_SIDE.length]!,
  );
  const sideBySide: Cases = (stage) =>
    describe.concurrent('side by side', () => {
      for (const register of chosen) register(stage);
    });
  describe('on one system', () => systems(startSystem, cacheSize)({}, [sideBySide]));
}

/** A system for the cases inside; it ends with them, and leaves no worker behind. */
function systems(startSystem: StartSystem, cacheSize: number) {
  return (options: Partial<SystemOptions>, cases: Cases[], waitMs = WAIT_MS): void => {
    const stage = new Stage(waitMs);
    let system: System | undefined;
    let ledger: Ledger | undefined;
    beforeAll(async () => {
      ledger = await Ledger.start(waitMs);
      system = await startSystem({ directory: deployment('main'), cacheSize, ...options });
      stage.fill(system, ledger);
    });
    beforeEach(() => system?.whenBack?.());
    afterAll(async () => {
      const pids = system?.workerPids() ?? [];
      await system?.stop();
      await ledger?.stop();
      expect(pids.filter(isAlive)).toEqual([]);
    });
    for (const register of cases) register(stage);
  };
}
