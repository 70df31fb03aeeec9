/** What can be typed, read from the commands themselves, so that no completion is missing or out of date. */
import type { Argument, Command, Option } from 'commander';

/** What can be in a place; workflows and ids are asked of a server. */
export type Values = 'none' | 'files' | 'folders' | 'workflows' | 'ids' | readonly string[];

export interface Flag {
  /** `--help` and, where it has one, `-h`. */
  names: string[];
  description: string;
  takesValue: boolean;
  values: Values;
}

export interface Place {
  values: Values;
  isVariadic: boolean;
}

export interface CommandModel {
  /** The words that lead to it, such as `workflow run`; empty for the program itself. */
  path: string;
  subcommands: { name: string; description: string }[];
  flags: Flag[];
  places: Place[];
}

/** The program first, and each command before its own. */
export function modelOf(command: Command, path = ''): CommandModel[] {
  const help = command.createHelp();
  const below = help.visibleCommands(command);
  const own: CommandModel = {
    path,
    subcommands: below.map((each) => ({ name: each.name(), description: oneLine(each.description()) })),
    flags: help.visibleOptions(command).map(flagOf),
    places: command.registeredArguments.map(placeOf),
  };
  // `help` is made by commander when it is asked for, and has nothing below it.
  const models = command.commands.filter((each) => below.includes(each));
  return [own, ...models.flatMap((each) => modelOf(each, `${path} ${each.name()}`.trim()))];
}

function flagOf(option: Option): Flag {
  const { short, long, required, optional, argChoices, description } = option;
  return {
    names: [short, long].filter((name) => name !== undefined),
    description: oneLine(description),
    takesValue: required || optional,
    values: argChoices ?? byFlag(option),
  };
}

function byFlag({ long, flags }: Option): Values {
  if (long === '--workflow') return 'workflows';
  const placeholder = /<([^>]+)>/.exec(flags)?.[1] ?? '';
  if (['file', 'path'].includes(placeholder)) return 'files';
  return placeholder === 'folder' ? 'folders' : 'none';
}

const BY_ARGUMENT: Record<string, Values> = {
  workflow: 'workflows',
  id: 'ids',
  file: 'files',
  folder: 'folders',
};

function placeOf(argument: Argument): Place {
  const { argChoices, variadic } = argument;
  return { values: argChoices ?? BY_ARGUMENT[argument.name()] ?? 'none', isVariadic: variadic };
}

const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();
