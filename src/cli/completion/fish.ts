/** The completion script for fish, which is told every completion with the condition under which it holds. */
import type { CommandModel, Values } from './model.js';
import { SERVER_FLAGS } from './shells.js';

const quote = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

export function fishScript(models: CommandModel[]): string {
  const valued = models.flatMap(({ flags }) => flags.filter(({ takesValue }) => takesValue));
  const paths = models.map(({ path }) => path).filter((path) => path !== '');
  return [
    '# Completion of perdure for fish: perdure completion fish | source',
    '',
    '# Whether the words before the cursor lead to that command and, if a number is given, to that place of it.',
    'function __perdure_at -a wanted place',
    `  set -l paths ${paths.map(quote).join(' ')}`,
    `  set -l valued ${[...new Set(valued.flatMap(({ names }) => names))].map(quote).join(' ')}`,
    "  set -l at ''",
    '  set -l count 1',
    '  set -l skips 0',
    '  for word in (commandline -opc)[2..-1]',
    '    if test $skips = 1',
    '      set skips 0',
    "    else if string match -q -- '-*' $word",
    '      contains -- $word $valued; and set skips 1',
    '    else if test $count = 1; and contains -- (string trim -- "$at $word") $paths',
    '      set at (string trim -- "$at $word")',
    '    else',
    '      set count (math $count + 1)',
    '    end',
    '  end',
    '  test "$at" = "$wanted"; and begin',
    '    test -z "$place"; or test "$place" = $count; or begin',
    '      test "$place" = \'*\'',
    '    end',
    '  end',
    'end',
    '',
    '# The flags before the cursor that say which server the line is about.',
    'function __perdure_server',
    '  set -l takes 0',
    '  for word in (commandline -opc)[2..-1]',
    '    if test $takes = 1',
    "      printf '%s\\n' $word",
    '      set takes 0',
    `    else if contains -- $word ${SERVER_FLAGS.join(' ')}`,
    "      printf '%s\\n' $word",
    '      set takes 1',
    `    else if string match -qr '^(${SERVER_FLAGS.join('|')})=' -- $word`,
    "      printf '%s\\n' $word",
    '    end',
    '  end',
    'end',
    '',
    'complete -c perdure -f',
    ...models.flatMap(linesOf),
    '',
  ].join('\n');
}

function linesOf({ path, subcommands, flags, places }: CommandModel): string[] {
  const at = (place = '') =>
    `-n ${quote(`__perdure_at ${quote(path)}${place === '' ? '' : ` ${quote(place)}`}`)}`;
  return [
    ...subcommands.map(
      ({ name, description }) => `complete -c perdure ${at('1')} -a ${quote(name)} -d ${quote(description)}`,
    ),
    ...flags.map(({ names, description, takesValue, values }) => {
      const spelled = names.map((name) =>
        name.startsWith('--') ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`,
      );
      const value = takesValue ? ` ${given(values, true)}` : '';
      return `complete -c perdure ${at()} ${spelled.join(' ')}${value} -d ${quote(description)}`;
    }),
    ...places.flatMap(({ values, isVariadic }, index) =>
      values === 'none'
        ? []
        : [`complete -c perdure ${at(isVariadic ? '*' : String(index + 1))} ${given(values, false)}`],
    ),
  ];
}

function given(values: Values, isForFlag: boolean): string {
  const only = isForFlag ? '-x' : '-f';
  if (values === 'none') return '-x';
  if (values === 'files') return isForFlag ? '-r -F' : '-F';
  if (values === 'folders') return `${only} -a '(__fish_complete_directories)'`;
  if (values === 'workflows' || values === 'ids')
    return `${only} -a ${quote(`(perdure __words ${values} (commandline -ct) (__perdure_server) 2>/dev/null)`)}`;
  return `${only} -a ${quote(values.join(' '))}`;
}
