/** Runs test files in a workshop until the first of their tests fails, and says which. */
import { spawn } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Workshop } from './workshop.js';

/** The slowest of the suites takes half a minute on two cores, and every wait in the tests has a bound. */
const MAX_MS = 240_000;

export interface Verdict {
  isGreen: boolean;
  /** The first test that failed and what it said, or what went wrong where none did. */
  by: string;
}

interface JsonReport {
  numTotalTests: number;
  numFailedTests: number;
  testResults: {
    name: string;
    status: string;
    message?: string;
    assertionResults: { fullName: string; status: string; failureMessages?: string[] }[];
  }[];
}

export async function runTests(workshop: Workshop, files: readonly string[]): Promise<Verdict> {
  const report = join(workshop.path, 'mutants-report.json');
  rmSync(report, { force: true });
  const vitest = join('node_modules', 'vitest', 'vitest.mjs');
  const options = ['--bail', '1', '--reporter', 'json', '--outputFile', report];
  const child = spawn(process.execPath, [vitest, 'run', ...options, ...files], {
    cwd: workshop.path,
    stdio: ['ignore', 'ignore', 'pipe'],
    // A group of its own, so that a suite that hangs ends with all that it has started.
    detached: true,
  });
  let complaint = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(-2_000);
  });
  let hangs = false;
  const impatience = setTimeout(() => {
    hangs = true;
    process.kill(-child.pid!, 'SIGKILL');
  }, MAX_MS);
  const status = await new Promise<number | null>((resolve) => child.once('close', resolve));
  clearTimeout(impatience);
  if (hangs) return { isGreen: false, by: `the tests did not end within ${MAX_MS / 1000} s` };
  return verdictOf(report, status, complaint);
}

function verdictOf(file: string, status: number | null, complaint: string): Verdict {
  let report: JsonReport;
  try {
    report = JSON.parse(readFileSync(file, 'utf8')) as JsonReport;
  } catch {
    throw new Error(`vitest has left no report and ended with ${status}: ${complaint}`);
  }
  for (const { name, status: ofFile, message, assertionResults } of report.testResults) {
    const failed = assertionResults.find((test) => test.status === 'failed');
    if (failed)
      return { isGreen: false, by: `${failed.fullName}: ${firstLine(failed.failureMessages?.[0])}` };
    if (ofFile === 'failed') return { isGreen: false, by: `${name}: ${firstLine(message)}` };
  }
  // Tests that did not run have found nothing, and shown nothing either.
  if (report.numTotalTests === 0) throw new Error('no test was found in the files that were named');
  if (status !== 0) return { isGreen: false, by: firstLine(complaint) };
  return { isGreen: true, by: '' };
}

const firstLine = (text = ''): string => text.trim().split('\n')[0]!;
