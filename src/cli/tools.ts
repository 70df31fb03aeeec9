/** The commands around a project and its data that are no calls of a workflow's: init, replay, backup, restore, config, completion. */
import { Argument, type Command, Option } from 'commander';
import { catalogOption, connect, connectionOptions } from './calls/connection.js';
import { filterOption } from './calls/filters.js';
import { leaveWith } from './calls/register.js';
import type { ReplayFlags } from './calls/replay.js';
import { SHELLS, type Shell, WORD_KINDS, type WordKind } from './completion/shells.js';
import { DEFAULT_WORKFLOWS, workflowsOption } from './options.js';
import { durationOf } from './values.js';

/** What a worker has for a turn that is made from the start of its history. */
const REPLAY_WITHIN_MS = 60_000;

export function addTools(program: Command): void {
  addProject(program);
  addData(program);
  addCompletion(program);
}

function addProject(program: Command): void {
  program
    .command('init [folder]')
    .description('a project to start from: two workflows, their steps and tests')
    .action((folder: string | undefined) =>
      leaveWith(async () => (await import('./project/init.js')).init(folder)),
    );

  const replay = program
    .command('replay [file...]')
    .description('whether the workflows here fit histories: of files (- is standard input), or of open runs')
    .addOption(workflowsOption('folder of the workflows').default(DEFAULT_WORKFLOWS))
    .option('--open', 'the open runs of a server')
    .addOption(filterOption())
    .addOption(catalogOption('catalog whose open runs are replayed'))
    .addOption(
      new Option('--within <duration>', 'how long the code may run for one history')
        .default(REPLAY_WITHIN_MS, '60 s')
        .argParser(durationOf(1, 3_600_000, 'from 1 ms to 1 hour')),
    )
    .option('--json', 'the results as JSON, and nothing else on standard output');
  for (const option of connectionOptions()) replay.addOption(option);
  replay.action((files: string[], flags: ReplayFlags) =>
    leaveWith(async () => (await import('./calls/replay.js')).replay(replay, files, flags)),
  );
}

function addData(program: Command): void {
  const backup = program
    .command('backup <file>')
    .description('copies the database of a server that runs, or of a data folder that none has, into a file')
    .addOption(
      new Option('--data <folder>', 'folder of a server that is stopped, in place of one that runs'),
    );
  for (const option of connectionOptions()) backup.addOption(option);
  backup.action((file: string, { data }: { data?: string }) =>
    leaveWith(async () => (await import('./calls/backup.js')).backup(backup, file, data)),
  );
  program
    .command('restore <file>')
    .description('puts a backup into a new data folder, once it has been looked through')
    .addOption(new Option('--data <folder>', 'folder that has no database yet').makeOptionMandatory())
    .action((file: string, { data }: { data: string }) =>
      leaveWith(async () => (await import('./calls/backup.js')).restore(file, data)),
    );
  const config = program
    .command('config')
    .description('the server, token and catalog in force, and where each came from')
    .addOption(catalogOption('catalog of the workflows'));
  for (const option of connectionOptions()) config.addOption(option);
  config
    .option('--json', 'as JSON')
    .action(({ json }: { json?: boolean }) =>
      leaveWith(async () => (await import('./calls/config.js')).config(config, json)),
    );
}

function addCompletion(program: Command): void {
  program
    .command('completion')
    .description('the script that completes commands, flags, workflows and ids in a shell')
    .addArgument(new Argument('<shell>', 'which one').choices(SHELLS))
    .action((shell: Shell) =>
      leaveWith(async () => (await import('./completion/index.js')).completion(program, shell)),
    );
  const words = program
    .command('__words', { hidden: true })
    .addArgument(new Argument('<kind>').choices(WORD_KINDS))
    .argument('[prefix]')
    .addOption(catalogOption('catalog of the workflows'));
  for (const option of connectionOptions()) words.addOption(option);
  words.action((kind: WordKind, prefix: string | undefined) =>
    leaveWith(async () =>
      (await import('./completion/words.js')).printWords(await connect(words), kind, prefix),
    ),
  );
}
