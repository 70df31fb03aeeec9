/**
 * What bash and zsh look things up in: functions of the shell's own that print what there is at a place, one to a line. Both
 * read the same syntax.
 */
import type { CommandModel, Values } from './model.js';

export const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** `_perdure_commands PATH`, `_perdure_flags PATH`, `_perdure_value PATH FLAG` and `_perdure_place PATH NUMBER`. */
export function tables(models: CommandModel[]): string {
  const commands = models
    .filter(({ subcommands }) => subcommands.length > 0)
    .map(({ path, subcommands }) =>
      row(
        [path],
        subcommands.map(({ name, description }) => `${name}\t${description}`),
      ),
    );
  const flags = models.map(({ path, flags: own }) =>
    row(
      [path],
      own.flatMap(({ names, description }) => names.map((name) => `${name}\t${description}`)),
    ),
  );
  const values = models.flatMap(({ path, flags: own }) =>
    own
      .filter(({ takesValue }) => takesValue)
      .map(({ names, values: of }) =>
        row(
          names.map((name) => `${path} ${name}`),
          words(of),
        ),
      ),
  );
  const places = models.flatMap(({ path, places: own }) =>
    own.map(({ values: of, isVariadic }, at) => {
      const pattern = isVariadic ? `${quote(`${path} `)}*` : quote(`${path} ${at + 1}`);
      return `    ${pattern}) printf '%s\\n' ${words(of).map(quote).join(' ')} ;;`;
    }),
  );
  return [
    table('_perdure_commands', '"$1"', commands),
    table('_perdure_flags', '"$1"', flags),
    table('_perdure_value', '"$1 $2"', values),
    table('_perdure_place', '"$1 $2"', places),
  ].join('\n');
}

/** The kind in brackets, or the choices. */
const words = (values: Values): string[] => (typeof values === 'string' ? [`<${values}>`] : [...values]);

const row = (keys: string[], lines: string[]): string =>
  `    ${keys.map(quote).join('|')}) printf '%s\\n' ${lines.map(quote).join(' ')} ;;`;

const table = (name: string, subject: string, rows: string[]): string =>
  [`${name}() {`, `  case ${subject} in`, ...rows, '  esac', '}', ''].join('\n');
