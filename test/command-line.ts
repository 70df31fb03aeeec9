/**
 * Command lines of the campaigns, which begin with a comment that says how they are used: that is their `--help`, and what
 * they are called with otherwise is refused in one line. A number that is misread would let a campaign of nothing pass as
 * a success.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type ParseArgsConfig, parseArgs } from 'node:util';

/** The caller has written something that cannot be meant. */
export class WrongUse extends Error {}

/** What the script was called with. From now on a `WrongUse` ends it with its message alone, and with 2. */
export function commandLine<const T extends NonNullable<ParseArgsConfig['options']>>(
  script: string,
  options: T,
  { allowPositionals } = { allowPositionals: false },
) {
  process.once('uncaughtException', (error) => {
    const isWrongUse = error instanceof WrongUse;
    console.error(isWrongUse ? `${error.message}\n--help says what there is` : error);
    process.exit(isWrongUse ? 2 : 1);
  });
  const args = process.argv.slice(2);
  if (args.includes('--help') || args.includes('-h')) {
    console.log(headOf(readFileSync(fileURLToPath(script), 'utf8')));
    process.exit(0);
  }
  try {
    return parseArgs({ args, options, allowPositionals });
  } catch (error) {
    throw new WrongUse((error as Error).message);
  }
}

/** The text of the comment that a script begins with. */
function headOf(source: string): string {
  const [comment = ''] = /^\/\*\*[\s\S]*?\*\//.exec(source) ?? [];
  return comment
    .replace(/^\/\*\* ?|\s*\*\/$/g, '')
    .replace(/^ \* ?/gm, '')
    .trim();
}

/** @throws unless it is a number above zero */
export function positive(name: string, text: string): number {
  const value = Number(text);
  if (!(value > 0 && Number.isFinite(value))) {
    throw new WrongUse(`${name} ${text}: a number above 0 is needed, without separators`);
  }
  return value;
}

/** @throws unless it is a whole number, zero at least */
export function count(name: string, text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !Number.isSafeInteger(value) || value < 0) {
    throw new WrongUse(`${name} ${text}: a whole number is needed, without separators`);
  }
  return value;
}

/** @throws unless it is a whole number, one at least */
export function countAboveZero(name: string, text: string): number {
  return positive(name, String(count(name, text)));
}
