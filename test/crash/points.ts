/**
 * kill -9 at every named place of the program (F01): before its commit, within it, after it, when the answer has left,
 * and with the answers lost. Each is proven to have struck by what the process wrote down last.
 */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { FaultPoint } from '../../src/core/fault-point.js';
import type { Chore } from './chores.js';
import type { Meddling } from './operations.js';
import type { Trial } from './trial.js';
import { until } from './until.js';

export type Variant = 'before' | 'inside' | 'after' | 'told' | 'lost';

const HOOK = new URL('points/hook.mjs', import.meta.url).href;
const COMMITTED: Variant[] = ['before', 'inside', 'after', 'lost'];

interface Crash {
  /** In the list of crash points that this project was ordered with. */
  row: string;
  variants: Variant[];
  /** What makes the server come there, when the clients of every day do not do so often. */
  plan?: Chore[];
  meddling?: Meddling;
  /** Only while the server is asked to end. */
  isDraining?: boolean;
  isOfWorker?: boolean;
}

const act: Chore = { kind: 'act', value: 'x' };

/** `retention` and `catalog` need a server of their own (rows.ts). */
export type CrashPoint = Exclude<FaultPoint, 'retention' | 'catalog'>;

export const CRASHES: Readonly<Record<CrashPoint, Crash>> = {
  start: { row: 'C01-C04', variants: ['before', 'inside', 'after', 'told', 'lost'] },
  turnSent: { row: 'C05', variants: ['before'] },
  workerTurn: { row: 'C05', variants: ['before'], isOfWorker: true },
  workerReplay: { row: 'C06', variants: ['before'], isOfWorker: true },
  turnAnswered: { row: 'C07', variants: COMMITTED },
  commitWritten: { row: 'C02', variants: ['before'] },
  commitReturned: { row: 'C03', variants: ['before', 'lost'] },
  stepGoesOut: { row: 'C09', variants: ['before'] },
  stepIsOut: { row: 'C10', variants: ['before'] },
  workerStepDone: { row: 'C11', variants: ['before'], isOfWorker: true },
  stepCompleted: { row: 'C12, C13', variants: COMMITTED },
  timerDue: { row: 'C14, C15', variants: COMMITTED, plan: [{ kind: 'sleep', forMs: 20 }, act] },
  signal: { row: 'C16', variants: ['before', 'inside', 'after', 'told', 'lost'] },
  updateAccepted: { row: 'C17', variants: COMMITTED },
  updateCompleted: { row: 'C18', variants: ['before', 'inside', 'after', 'told', 'lost'] },
  stop: { row: 'C19', variants: COMMITTED, plan: [{ ...act, forMs: 400 }], meddling: 'stop' },
  terminate: { row: 'C20', variants: COMMITTED, plan: [{ ...act, forMs: 400 }], meddling: 'terminate' },
  reset: { row: 'C21', variants: COMMITTED, plan: [act], meddling: 'reset' },
  pause: { row: 'beyond it', variants: COMMITTED, plan: [{ ...act, forMs: 400 }, act], meddling: 'pause' },
  resume: { row: 'beyond it', variants: COMMITTED, plan: [{ ...act, forMs: 400 }, act], meddling: 'pause' },
  budget: { row: 'beyond it', variants: COMMITTED, plan: [act, act, act], meddling: 'budget' },
  continueAsNew: { row: 'C22', variants: COMMITTED, plan: [act, { kind: 'again' }, act] },
  childStart: { row: 'C23', variants: COMMITTED, plan: [{ kind: 'child', plan: [act] }] },
  childClosed: { row: 'C24', variants: COMMITTED, plan: [{ kind: 'child', plan: [act] }] },
  parentCloses: { row: 'C25', variants: COMMITTED, plan: [{ kind: 'abandon', values: ['a', 'b', 'c'] }] },
  external: { row: 'C26', variants: COMMITTED, plan: [{ kind: 'tell', workflowId: '', value: '' }] },
  drainWorkers: { row: 'C31', variants: ['before'], isDraining: true },
  drainLink: { row: 'C31', variants: ['before'], isDraining: true },
  drainServer: { row: 'C31', variants: ['before'], isDraining: true },
  drainTraces: { row: 'C31', variants: ['before'], isDraining: true },
  drainEngine: { row: 'C31', variants: ['before'], isDraining: true },
};

/** Long enough for workers to load and the place to be reached on a busy machine. */
const REACHED_MS = 60_000;

/** The environment of a server whose processes may end at the place. */
export function crashingAt(trial: Trial, point: FaultPoint, variant: Variant, nth = 1) {
  const file = join(trial.folder.path, 'reached');
  for (const each of [file, `${file}.struck`]) rmSync(each, { force: true });
  const env = {
    NODE_OPTIONS: `--import ${HOOK}`,
    CRASH_AT: `${point}:${nth}:${variant}`,
    CRASH_REACHED: file,
  };
  const lines = () => (existsSync(file) ? readFileSync(file, 'utf8').split('\n') : []);
  return {
    env,
    hasStruck: () => lines().includes(`struck ${env.CRASH_AT}`),
    reached: () => lines().flatMap((line) => /^reached (.*)/.exec(line)?.[1] ?? []) as FaultPoint[],
  };
}

/** One kill at one place, and a look at the disk. Answers with the places that were come to. */
export async function crashAt(trial: Trial, point: CrashPoint, variant: Variant): Promise<FaultPoint[]> {
  const { plan, meddling, isDraining, isOfWorker } = CRASHES[point];
  const crash = crashingAt(trial, point, variant, 1 + trial.random.below(3));
  // What a server only does once in its life is done once.
  if (isDraining) crash.env.CRASH_AT = `${point}:1:${variant}`;
  const service = trial.launch(crash.env);
  // Some places are come to before the first call is answered.
  await trial.untilAnswering(service, () => crash.hasStruck());
  let isOver = false;
  const load = trial.load.run(() => isOver);
  const provoking = plan ? trial.load.provoke(plan, meddling, () => isOver) : Promise.resolve();
  if (isDraining) {
    await service.untilWorkers(1);
    process.kill(service.pid, 'SIGTERM');
  }
  await until(`${point} (${variant}) is reached`, REACHED_MS, () => crash.hasStruck());
  const goesOn = variant === 'lost' || isOfWorker;
  if (goesOn) await new Promise((resolve) => setTimeout(resolve, 150));
  else await until('the server is gone', REACHED_MS, () => service.isGone);
  // What was left alive ends like the rest; whoever is gone is gone already.
  await trial.kill();
  isOver = true;
  await Promise.all([load, provoking]);
  trial.lookAtDisk();
  return crash.reached();
}
