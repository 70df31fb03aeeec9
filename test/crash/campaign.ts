/** The long run: kills, places, power cuts and rows of faults, added up into a table. */
import type { FaultPoint } from '../../src/core/fault-point.js';
import { type KillCounts, killDuringRecovery, killUnderLoad } from './kills.js';
import { CRASHES, type CrashPoint, crashAt } from './points.js';
import { powerCuts } from './power-cuts.js';
import { ROWS, tryRow } from './rows.js';
import { diskShim, NO_SHIM } from './shim/build.js';
import { Trial } from './trial.js';

export interface CampaignOptions {
  kills: number;
  powerCuts: number;
  /** How often every place is gone through. */
  rounds: number;
  /** Whether the rows of faults are tried. */
  rows: boolean;
  seed: number;
  log(line: string): void;
}

export interface Summary {
  kills: number;
  powerCuts: number;
  acknowledged: number;
  unclear: number;
  lost: string[];
  twice: string[];
  broken: string[];
}

/** A folder is used for so many kills; then everything in it has to end. */
const KILLS_PER_FOLDER = 40;
const CUTS_PER_RECORD = 25;
const RECORDS_PER_FOLDER = 4;

export class Campaign {
  readonly summary: Summary = {
    ...{ kills: 0, powerCuts: 0, acknowledged: 0, unclear: 0, lost: [], twice: [], broken: [] },
  };
  #seed: number;

  constructor(private readonly options: CampaignOptions) {
    this.#seed = options.seed;
  }

  async run(): Promise<void> {
    if (this.options.rounds > 0) await this.#places();
    if (this.options.rows) await this.#rows();
    await this.#powerCuts();
    await this.#kills();
  }

  /** A trial, settled and judged. What is wrong names the seed it came from. */
  async #trial(what: string, make: (trial: Trial) => Promise<void>): Promise<void> {
    const seed = this.#seed++;
    const trial = await Trial.prepare({ seed });
    try {
      await make(trial);
      await trial.settle();
    } catch (error) {
      trial.verdict.broken.push((error as Error).message);
    } finally {
      await trial.remove();
    }
    this.#count(trial, `${what}, seed ${seed}`);
  }

  #count({ verdict, operations, kills }: Trial, what: string): void {
    const { summary, options } = this;
    summary.kills += kills;
    summary.acknowledged += operations.count('acknowledged');
    summary.unclear += operations.count('unclear');
    for (const kind of ['lost', 'twice', 'broken'] as const) {
      for (const each of verdict[kind]) {
        summary[kind].push(`${what}: ${each}`);
        options.log(`  ${kind}: ${what}: ${each.slice(0, 400)}`);
      }
    }
  }

  async #kills(): Promise<void> {
    const counts: KillCounts = { underLoad: 0, duringRecovery: 0, ofWorkers: 0 };
    const { summary, options } = this;
    while (summary.kills < options.kills) {
      const left = options.kills - summary.kills;
      await this.#trial('kills', async (trial) => {
        while (trial.kills < Math.min(KILLS_PER_FOLDER, left)) {
          await killUnderLoad(trial, counts);
          if (trial.random.below(8) === 0) await killDuringRecovery(trial, 5, counts);
        }
        // F03: twenty in a row.
        if (trial.random.below(3) === 0) await killDuringRecovery(trial, 20, counts);
      });
      const { lost, twice, broken } = summary;
      options.log(
        `${summary.kills} kills of servers (${counts.underLoad} under load, ${counts.duringRecovery} while they started) and ${counts.ofWorkers} of workers; lost ${lost.length}, twice ${twice.length}, otherwise wrong ${broken.length}`,
      );
    }
  }

  async #places(): Promise<void> {
    const { rounds, log } = this.options;
    const struck = new Map<string, number>();
    const reached = new Map<FaultPoint, number>();
    for (let round = 0; round < rounds; round++) {
      await this.#trial('places', async (trial) => {
        for (const [point, { variants }] of Object.entries(CRASHES)) {
          for (const variant of variants) {
            for (const name of await crashAt(trial, point as CrashPoint, variant)) {
              reached.set(name, (reached.get(name) ?? 0) + 1);
            }
            struck.set(`${point} ${variant}`, (struck.get(`${point} ${variant}`) ?? 0) + 1);
          }
        }
      });
    }
    log('place              row        reached by processes   ended at it');
    for (const [point, { row, variants }] of Object.entries(CRASHES)) {
      const times = variants.map((variant) => `${variant} ${struck.get(`${point} ${variant}`) ?? 0}`);
      const came = String(reached.get(point as FaultPoint) ?? 0);
      log(`${point.padEnd(18)} ${row.padEnd(10)} ${came.padEnd(22)} ${times.join(', ')}`);
    }
  }

  async #rows(): Promise<void> {
    for (const row of ROWS) {
      if (row.needsShim && diskShim() === undefined) {
        this.options.log(`left out   ${row.name}: ${NO_SHIM}`);
        continue;
      }
      const seed = this.#seed++;
      const { trial, seen } = await tryRow(row, seed);
      this.#count(trial, `${row.name}, seed ${seed}`);
      const { lost, twice, broken } = trial.verdict;
      const isFine = lost.length + twice.length + broken.length === 0;
      this.options.log(`${isFine ? 'holds ' : 'BROKEN'}     ${row.name}: ${seen}`);
    }
  }

  async #powerCuts(): Promise<void> {
    const { summary, options } = this;
    if (options.powerCuts > 0 && diskShim() === undefined) {
      summary.broken.push(NO_SHIM);
      return;
    }
    while (summary.powerCuts < options.powerCuts) {
      await this.#trial('power cuts', async (trial) => {
        for (let record = 0; record < RECORDS_PER_FOLDER && summary.powerCuts < options.powerCuts; record++) {
          const cuts = Math.min(CUTS_PER_RECORD, options.powerCuts - summary.powerCuts);
          const report = await powerCuts(trial, { cuts, loadMs: 2_500 });
          summary.powerCuts += report.cuts;
          options.log(
            `${summary.powerCuts} power cuts; of the last ${report.cuts}, in a record of ${report.syncs} syncs, ${report.failed} failed; acknowledged operations looked for in all: ${report.lookedFor}`,
          );
        }
      });
    }
  }
}
