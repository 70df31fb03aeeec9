/**
 * Power cuts (F04): one server under load is recorded, and the power goes at many instants of that record. Each disk that
 * this leaves is looked at as it is, recovered by the engine itself, and looked at again. The world then goes on from one
 * of them with a real server, so that cuts add up.
 */
import { cpSync, existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { EmbeddedEngine } from '../../src/embedded/index.js';
import { isFine } from './checks.js';
import { type Change, readJournal } from './journal.js';
import { PoweredDisk } from './power.js';
import { shimmed } from './shim/build.js';
import type { Trial } from './trial.js';
import { until } from './until.js';

export interface CutOptions {
  cuts: number;
  /** How long the server is loaded while it is recorded. */
  loadMs: number;
  /** Files whose syncs do nothing: what a server at a lower level of durability would do to its log. */
  dropSync?: string;
}

export interface CutReport {
  cuts: number;
  /** Cuts after which something was missing, twice or wrong. */
  failed: number;
  /** Syncs in the records. */
  syncs: number;
  /** Acknowledged operations that were looked for after each cut, added up. */
  lookedFor: number;
}

export async function powerCuts(trial: Trial, options: CutOptions): Promise<CutReport> {
  const changes = await record(trial, options);
  const report: CutReport = { cuts: 0, failed: 0, syncs: 0, lookedFor: 0 };
  report.syncs = changes.filter(({ call }) => call === 'sync').length;
  const disk = new PoweredDisk(baseOf(trial));
  const left = join(trial.folder.path, 'after-cut');
  const goesOnFrom = trial.random.below(options.cuts);
  let rollBack = () => {};
  let next = 0;
  for (const place of placesToCut(trial, changes, options.cuts)) {
    while (next < place) disk.apply(changes[next++]!);
    const instant = changes[place]?.at ?? Infinity;
    disk.cut(left, trial.random);
    report.lookedFor += trial.operations.asOf(instant).count('acknowledged');
    const isWorldToBe = report.cuts++ === goesOnFrom;
    if (isWorldToBe) {
      const kept = join(trial.folder.path, 'world');
      rmSync(kept, { recursive: true, force: true });
      cpSync(left, kept, { recursive: true });
      rollBack = () => trial.rollBack(instant, kept);
    }
    if (!(await survives(trial, left, instant))) report.failed++;
  }
  rollBack();
  return report;
}

/** A slow machine records for longer: a cut of next to nothing shows nothing. */
const MIN_ACKNOWLEDGED = 60;

const baseOf = (trial: Trial): string => join(trial.folder.path, 'before-record');

async function record(trial: Trial, { loadMs, dropSync }: CutOptions): Promise<Change[]> {
  const journal = join(trial.folder.path, 'journal');
  rmSync(journal, { force: true });
  rmSync(baseOf(trial), { recursive: true, force: true });
  if (existsSync(trial.dataDir)) cpSync(trial.dataDir, baseOf(trial), { recursive: true });
  await trial.start(
    shimmed(trial.dataDir, { JOURNAL: journal, ...(dropSync !== undefined && { DROP_SYNC: dropSync }) }),
  );
  let isOver = false;
  const load = trial.load.run(() => isOver);
  await trial.service!.untilWorkers(1);
  const enough = trial.operations.count('acknowledged') + MIN_ACKNOWLEDGED;
  await new Promise((resolve) => setTimeout(resolve, loadMs));
  await until('operations that a cut could lose', 60_000, () => {
    return trial.operations.count('acknowledged') >= enough;
  });
  await trial.kill();
  isOver = true;
  await load;
  return readJournal(journal);
}

/** Anywhere, and as often right before a sync, when most is at stake. In the order of time. */
function placesToCut(trial: Trial, changes: readonly Change[], count: number): number[] {
  const syncs = changes.flatMap(({ call }, index) => (call === 'sync' ? [index] : []));
  const places = Array.from({ length: count }, () =>
    trial.random.below(2) === 0 ? trial.random.pick(syncs) : 1 + trial.random.below(changes.length),
  );
  return places.sort((a, b) => a - b);
}

async function survives(trial: Trial, dataDir: string, instant: number): Promise<boolean> {
  const asFound = isFine(trial.lookAtDisk(dataDir, instant));
  try {
    await EmbeddedEngine.open({ dataDir }).close();
  } catch (error) {
    trial.verdict.broken.push(`after a power cut it does not start: ${(error as Error).message}`);
    return false;
  }
  return isFine(trial.lookAtDisk(dataDir, instant)) && asFound;
}
