/**
 * Bugs that were put in on purpose, each a small patch: the simulation must find every one of them. Each is applied to a
 * copy of the checkout, so that nothing of it can stay behind.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const CHECKOUT = fileURLToPath(new URL('../..', import.meta.url));
const BUGS = fileURLToPath(new URL('./bugs', import.meta.url));
/** Programs within which each must be found. */
const PROGRAMS = 2_000;

export interface Found {
  bug: string;
  /** What the simulation says of it; undefined when it found nothing. */
  violation: string | undefined;
  programs: number;
  seconds: number;
}

export const bugs = (): string[] =>
  readdirSync(BUGS)
    .filter((file) => file.endsWith('.patch'))
    .sort();

/** The first line of the patch says what the bug is. */
export const titleOf = (bug: string): string => readFileSync(join(BUGS, bug), 'utf8').split('\n', 1)[0]!;

export function findBug(bug: string, programs = PROGRAMS): Found {
  const copy = mkdtempSync(join(tmpdir(), 'perdure-bug-'));
  try {
    for (const part of ['src', 'test', 'package.json', 'tsconfig.json']) {
      cpSync(join(CHECKOUT, part), join(copy, part), { recursive: true });
    }
    symlinkSync(join(CHECKOUT, 'node_modules'), join(copy, 'node_modules'));
    const applied = spawnSync('patch', ['-p1', '--fuzz=3', '-i', join(BUGS, bug)], {
      cwd: copy,
      encoding: 'utf8',
    });
    if (applied.status !== 0) throw new Error(`${bug} does not apply: ${applied.stdout}${applied.stderr}`);
    const begun = performance.now();
    const script = join('test', 'simulation', 'first-violation.ts');
    const found = spawnSync(process.execPath, ['--import', 'tsx', script, String(programs)], {
      cwd: copy,
      encoding: 'utf8',
    });
    if (found.status !== 0) throw new Error(`${bug}: ${found.stderr}`);
    const { violation, tried } = JSON.parse(found.stdout) as { violation?: string; tried: number };
    return {
      bug: basename(bug, '.patch'),
      violation,
      programs: tried,
      seconds: Math.round((performance.now() - begun) / 1000),
    };
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

/** The exit code. */
export async function findBugs(): Promise<number> {
  let missed = 0;
  for (const bug of bugs()) {
    const { violation, programs, seconds } = findBug(bug);
    console.log(`${bug}: ${titleOf(bug)}`);
    console.log(
      violation === undefined
        ? `  NOT FOUND in ${programs} programs`
        : `  after ${programs} programs, ${seconds} s: ${violation}`,
    );
    if (violation === undefined) missed++;
  }
  console.log(missed === 0 ? 'all were found' : `${missed} were not found`);
  return missed;
}
