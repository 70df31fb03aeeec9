/** What a check has found: how it is, and what to do where it is not as it should be. */
import { out } from '../colours.js';

export type Status = 'ok' | 'warn' | 'fail';

export interface Finding {
  /** What was looked at. */
  name: string;
  status: Status;
  message: string;
  /** A sentence that says what to do; null where nothing is. */
  remedy: string | null;
}

export const ok = (name: string, message: string): Finding => ({ name, status: 'ok', message, remedy: null });
export const warn = (name: string, message: string, remedy: string): Finding => ({
  ...{ name, status: 'warn', message, remedy },
});
export const fail = (name: string, message: string, remedy: string): Finding => ({
  ...{ name, status: 'fail', message, remedy },
});

const MARKS: Record<Status, string> = { ok: out.green('✓'), warn: out.yellow('!'), fail: out.red('✗') };
/** The longest name of a check. */
const NAME_WIDTH = 17;

export function findingText({ name, status, message, remedy }: Finding): string {
  const indent = ' '.repeat(NAME_WIDTH + 4);
  const line = `${MARKS[status]} ${out.bold(name.padEnd(NAME_WIDTH))}  ${message.replaceAll('\n', `\n${indent}`)}`;
  return remedy === null ? line : `${line}\n${indent}${out.dim('→')} ${remedy}`;
}
