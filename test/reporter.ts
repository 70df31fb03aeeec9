/**
 * What vitest says at the end of a run beside its own summary: every case that was left out, and why, and every case that
 * passed at its second try only, and what went wrong at the first (test/second-try.ts).
 */
import type { TestError } from 'vitest';
import type { Reporter, TestModule } from 'vitest/node';
import { findChromium } from '../scripts/chromium-install.mjs';
import { NEEDS_CHROMIUM } from './browser/names.js';
import { findTemporal, NEEDS_TEMPORAL } from './temporal/binary.js';

export class SecondTries implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    for (const module of modules) {
      for (const test of module.children.allTests('passed')) {
        if (!test.diagnostic()?.flaky) continue;
        const errors = test.result().errors?.map(described) ?? [];
        console.log(`\nPassed at the second try only: ${test.fullName}\n${errors.join('\n')}`);
      }
    }
  }
}

function described({ message, stack, cause }: TestError): string {
  const said = stack ?? message;
  return cause === undefined ? said : `${said}\nCaused by: ${described(cause)}`;
}

export class LeftOut implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const byReason = new Map<string, string[]>();
    const needTemporal = new Map<string, number>();
    const needChromium = new Map<string, number>();
    let beyondShare = 0;
    for (const module of modules) {
      for (const test of module.children.allTests('skipped')) {
        const result = test.result();
        if (test.fullName.includes(NEEDS_TEMPORAL) && findTemporal() === undefined) {
          const name = module.relativeModuleId;
          needTemporal.set(name, (needTemporal.get(name) ?? 0) + 1);
        } else if (test.fullName.includes(NEEDS_CHROMIUM) && findChromium() === undefined) {
          const name = module.relativeModuleId;
          needChromium.set(name, (needChromium.get(name) ?? 0) + 1);
        } else if (test.meta().isBeyondShare) {
          beyondShare++;
        } else if (result.state === 'skipped' && result.note) {
          byReason.set(result.note, [...(byReason.get(result.note) ?? []), test.fullName]);
        }
      }
    }
    for (const [reason, names] of byReason) {
      console.log(`\nLeft out: ${reason}\n${names.map((name) => `  ${name}`).join('\n')}`);
    }
    if (beyondShare > 0) {
      console.log(
        `\nLeft to "npm run test:everything", since a share of them was asked: ${beyondShare} cases`,
      );
    }
    if (needTemporal.size > 0) console.error(without(needTemporal, ...TEMPORAL));
    if (needChromium.size > 0) console.error(without(needChromium, ...CHROMIUM));
  }
}

const TEMPORAL = [
  'the Temporal engine. There is no Temporal server on this machine.',
  'Get one with "npm run temporal:install", or name one: PERDURE_TEMPORAL_CLI=/path/to/temporal npm test',
] as const;
const CHROMIUM = [
  'what happens in a browser. There is no Chromium on this machine.',
  'Get one with "npm run chromium:install", or name one: PERDURE_CHROMIUM=/path/to/chromium npm test',
] as const;

function without(files: ReadonlyMap<string, number>, what: string, remedy: string): string {
  const line = '█'.repeat(100);
  const total = [...files.values()].reduce((sum, count) => sum + count, 0);
  return [
    '',
    line,
    `█  NOT TESTED: ${what}`,
    `█  Left out, ${total} cases in all:`,
    ...[...files].map(([name, count]) => `█    ${name} (${count})`),
    `█  ${remedy}`,
    line,
    '',
  ].join('\n');
}
