/** What vitest says at the end of a run beside its own summary: every case that was left out, and why. */
import type { Reporter, TestModule } from 'vitest/node';
import { findTemporal, NEEDS_TEMPORAL } from './temporal/binary.js';

export class LeftOut implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const byReason = new Map<string, string[]>();
    const needTemporal = new Map<string, number>();
    for (const module of modules) {
      for (const test of module.children.allTests('skipped')) {
        const result = test.result();
        if (test.fullName.includes(NEEDS_TEMPORAL) && findTemporal() === undefined) {
          const name = module.relativeModuleId;
          needTemporal.set(name, (needTemporal.get(name) ?? 0) + 1);
        } else if (result.state === 'skipped' && result.note) {
          byReason.set(result.note, [...(byReason.get(result.note) ?? []), test.fullName]);
        }
      }
    }
    for (const [reason, names] of byReason) {
      console.log(`\nLeft out: ${reason}\n${names.map((name) => `  ${name}`).join('\n')}`);
    }
    if (needTemporal.size > 0) console.error(withoutTemporal(needTemporal));
  }
}

function withoutTemporal(files: ReadonlyMap<string, number>): string {
  const line = '█'.repeat(100);
  const total = [...files.values()].reduce((sum, count) => sum + count, 0);
  return [
    '',
    line,
    `█  NOT TESTED: the Temporal engine. There is no Temporal server on this machine.`,
    `█  Left out, ${total} cases in all:`,
    ...[...files].map(([name, count]) => `█    ${name} (${count})`),
    '█  Get one with "npm run temporal:install", or name one: PERDURE_TEMPORAL_CLI=/path/to/temporal npm test',
    line,
    '',
  ].join('\n');
}
