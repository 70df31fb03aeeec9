/**
 * Many programs on a pair of systems, several at a time, each with ids of its own. The first that disagree are run
 * again, to tell a rule that is broken from a matter of time, and the first of all is shrunk.
 */
import fc from 'fast-check';
import { ofSeed, programOf, programs, programsWithoutBudgets } from './generator.js';
import type { Program } from './program.js';
import { Coverage, sideBySide } from './report.js';
import { type Pair, type Trial, tryOut } from './trial.js';

export interface CampaignOptions {
  seeds: number[];
  /** Programs under way at a time. */
  atOnce: number;
  /** How long a failing program may be shrunk; 0 leaves it as it is. */
  shrinkMs: number;
  /** Whether programs may have budgets; a seed is another program without them. */
  hasBudgets?: boolean;
  log(line: string): void;
}

export interface Campaign {
  coverage: Coverage;
  /** Seeds of programs that came out differently. */
  failed: number[];
  /** Everything about the first of them. */
  report: string | undefined;
}

/** More failures say nothing new. */
const MAX_FAILURES = 5;
/** Programs after which a long campaign says that it goes on. */
const PROGRESS = 500;

const madeOf = ({ hasBudgets = true }: CampaignOptions) => (hasBudgets ? programs : programsWithoutBudgets);

export async function campaign(pair: Pair, options: CampaignOptions): Promise<Campaign> {
  const coverage = new Coverage();
  const failed: { seed: number; trial: Trial }[] = [];
  const waiting = [...options.seeds];
  let tried = 0;
  const lane = async () => {
    for (let seed = waiting.shift(); seed !== undefined; seed = waiting.shift()) {
      const program = programOf(seed, madeOf(options));
      const trial = await tryOut(pair, program);
      coverage.add(program, trial);
      if (++tried % PROGRESS === 0) options.log(`${tried} programs`);
      if (trial.differences.length === 0) continue;
      failed.push({ seed, trial });
      options.log(`seed ${seed}: ${trial.differences[0]!.slice(0, 300)}`);
      if (failed.length >= MAX_FAILURES) waiting.length = 0;
    }
  };
  await Promise.all(Array.from({ length: options.atOnce }, lane));
  const [first] = failed.sort((one, other) => one.seed - other.seed);
  return {
    coverage,
    failed: failed.map(({ seed }) => seed),
    report: first && (await reportOf(pair, first.seed, first.trial, options)),
  };
}

async function reportOf(pair: Pair, seed: number, trial: Trial, options: CampaignOptions): Promise<string> {
  const program = programOf(seed, madeOf(options));
  const again = await Promise.all([1, 2, 3].map(() => tryOut(pair, program)));
  const repeated = again.filter(({ differences }) => differences.length > 0).length;
  const shrunk = repeated > 0 && options.shrinkMs > 0 ? await shrink(pair, seed, options) : undefined;
  return [
    `The program of seed ${seed} came out differently on ${pair.names.join(' and ')}; run again, ${repeated} of 3 times.`,
    described(pair, program, trial),
    ...(shrunk ? ['', 'Shrunk:', described(pair, shrunk.program, shrunk.trial)] : []),
    '',
    `Again: npm run differential -- --pair ${pair.names.join(',')} --seed ${seed} --programs 1${options.hasBudgets === false ? ' --without-budgets' : ''}`,
    ...(shrunk
      ? [
          `Again: npm run differential -- --pair ${pair.names.join(',')} --program '${JSON.stringify(shrunk.program)}'`,
        ]
      : []),
  ].join('\n');
}

export function described(pair: Pair, program: Program, trial: Trial): string {
  return [JSON.stringify(program), ...trial.differences, sideBySide(pair.names, trial)].join('\n');
}

/** A smaller program that comes out differently as well. */
async function shrink(
  pair: Pair,
  seed: number,
  options: CampaignOptions,
): Promise<{ program: Program; trial: Trial } | undefined> {
  let smallest: { program: Program; trial: Trial } | undefined;
  const property = fc.asyncProperty(madeOf(options), async (program) => {
    const trial = await tryOut(pair, program);
    if (trial.differences.length > 0) smallest = { program, trial };
    return trial.differences.length === 0;
  });
  // The same numbers as `programOf`, so that shrinking starts at the very program.
  await fc.check(property, { ...ofSeed(seed), interruptAfterTimeLimit: options.shrinkMs });
  return smallest;
}
