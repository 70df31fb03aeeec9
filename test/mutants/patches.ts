/**
 * The set of bugs: each is a patch with some lines on top that say what it is, which promise it breaks and which tests
 * should find it.
 *
 *   What: acknowledges a signal before it is on disk
 *   Breaks: on disk before it is visible
 *   Found by: src/embedded/whole/arrivals.test.ts
 *   Survives: only where no test can tell the difference, and why
 */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const CHECKOUT = fileURLToPath(new URL('../..', import.meta.url));
const FOLDER = fileURLToPath(new URL('.', import.meta.url));

export const AREAS = ['embedded', 'worker', 'sdk', 'http', 'stream', 'client', 'temporal'] as const;

export interface Mutant {
  area: string;
  name: string;
  /** The patch, whole: `git apply` skips what stands on top of it. */
  file: string;
  what: string;
  breaks: string;
  /** Test files, relative to the checkout. */
  foundBy: string[];
  /** Why no test finds it; undefined for a bug that has to be found. */
  survives: string | undefined;
  /** Files that it changes. */
  changes: string[];
}

export function readMutants(): Mutant[] {
  return AREAS.flatMap((area) => {
    const folder = join(FOLDER, area);
    const files = readdirSync(folder).filter((file) => file.endsWith('.patch'));
    return files.sort().map((file) => parse(area, file.slice(0, -'.patch'.length), join(folder, file)));
  });
}

function parse(area: string, name: string, file: string): Mutant {
  const text = readFileSync(file, 'utf8');
  const [head = ''] = text.split(/^diff --git /m);
  const field = (label: string): string | undefined => {
    const line = head.split('\n').find((each) => each.startsWith(`${label}: `));
    return line?.slice(label.length + 2).trim() || undefined;
  };
  const required = (label: string): string => {
    const value = field(label);
    if (value === undefined) throw new Error(`${file} has no line "${label}: …"`);
    return value;
  };
  return {
    area,
    name,
    file,
    what: required('What'),
    breaks: required('Breaks'),
    foundBy: required('Found by').split(/,\s*/),
    survives: field('Survives'),
    changes: [...text.matchAll(/^\+\+\+ b\/(.+)$/gm)].map(([, path]) => path!),
  };
}

/** What `git apply` has against the patch, or undefined when it applies to the files in `folder`. */
export function whyNotApplicable({ file }: Mutant, folder: string): string | undefined {
  return gitApply(folder, '--check', file);
}

/** Changes the files in `folder`. Returns what git has against it. */
export function gitApply(folder: string, ...options: string[]): string | undefined {
  const { status, stderr } = spawnSync('git', ['apply', ...options], { cwd: folder, encoding: 'utf8' });
  return status === 0 ? undefined : stderr.trim() || `git apply ended with ${status}`;
}
