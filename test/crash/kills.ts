/** kill -9 at random instants: under load, while the server starts, of the server and of its workers. */
import type { Trial } from './trial.js';

export interface KillCounts {
  underLoad: number;
  duringRecovery: number;
  ofWorkers: number;
}

/** How long a server is left alone at most before it is killed: longer finds no more, and there are many kills to make. */
const LOAD_MS = 500;

/** One cycle: start, clients, kill, and a look at the disk. */
export async function killUnderLoad(trial: Trial, counts: KillCounts): Promise<void> {
  await trial.start();
  let isOver = false;
  const load = trial.load.run(() => isOver);
  const killWorkers = trial.random.below(4) === 0;
  // Often with workers, so that much is under way; now and then before there are any, when all of it waits.
  if (trial.random.below(4) > 0) await trial.service!.untilWorkers(1);
  await pause(trial.random.below(LOAD_MS));
  if (killWorkers) {
    for (const pid of trial.service!.workerPids()) {
      process.kill(pid, 'SIGKILL');
      counts.ofWorkers++;
    }
    await pause(trial.random.below(LOAD_MS));
  }
  await trial.kill();
  isOver = true;
  await load;
  counts.underLoad++;
  trial.lookAtDisk();
}

/** F03: the server is killed again and again before it is up, or just when it is. */
export async function killDuringRecovery(trial: Trial, times: number, counts: KillCounts): Promise<void> {
  const usual = trial.readyMs.at(-1) ?? 500;
  for (let time = 0; time < times; time++) {
    trial.launch();
    await pause(trial.random.below(usual * 1.3));
    await trial.kill();
    counts.duringRecovery++;
  }
  trial.lookAtDisk();
}

/** Time in which the server does whatever it does: the instant of a kill is the one thing here that is left to chance. */
function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
