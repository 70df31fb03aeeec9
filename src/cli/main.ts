#!/usr/bin/env node
/**
 * The command line. Exit codes: 0 ended as asked, 1 could not start or had to stop, 2 wrong use; those of the commands that
 * call a server are in calls/failure.ts.
 */
import { readFileSync } from 'node:fs';
import { Command, CommanderError, Option } from 'commander';
import type { TraceMode } from '../trace/modes.js';
import { addCalls } from './calls/register.js';
import type { CheckSettings } from './check.js';
import { err } from './colours.js';
import type { DoctorOptions } from './doctor/doctor.js';
import { meaninglessOption } from './meaningless.js';
import {
  catalogOption,
  corsOption,
  dataOption,
  engineOption,
  hostOption,
  logLevelOption,
  minFreeSpaceOption,
  noUiOption,
  portOption,
  privateAddressesOption,
  probePortOption,
  publicUrlOption,
  resultFormatOption,
  retentionOption,
  runTimeoutOption,
  type ServerSettings,
  type ServeSettings,
  serverOption,
  shutdownGraceOption,
  spareCores,
  spareWorkersOption,
  stepSlotsOption,
  tokenFileOption,
  tokenOption,
  traceBucketOption,
  traceEndpointOption,
  traceRegionOption,
  tracesOption,
  turnSlotsOption,
  versionNameOption,
  type WorkerSettings,
  workersOption,
  workflowsFolder,
  workflowsOption,
} from './options.js';
import { explainStartFailure } from './start-failure.js';
import { temporalContradiction, temporalOptions } from './temporal-options.js';
import { hideCommandLine } from './token.js';
import { addTools } from './tools.js';
import { endWhenUnread } from './unread.js';

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

const program = new Command('perdure')
  .description('A durable workflow service with an HTTP API')
  .version(version)
  .exitOverride()
  .configureOutput({
    outputError: (text, write) => write(`${err.red('perdure:')} ${withHint(text.replace(/^error: /, ''))}`),
  });

/** Where a person has to know what there is to say it right, and nothing that is near was found. */
function withHint(text: string): string {
  const isOfShape = /^(missing required|too many arguments|unknown|option .* argument missing)/.test(text);
  if (!isOfShape || text.includes('Did you mean')) return text;
  const ofOption = text.startsWith('unknown option')
    ? ', and what begins with - but is none goes behind --'
    : '';
  return `${text.trimEnd().replace(/\.$/, '')}: --help says what there is${ofOption}\n`;
}

function command(name: string, description: string, options: Option[]): Command {
  const command = program.command(name).description(description);
  for (const option of [engineOption(), ...options, ...temporalOptions()]) command.addOption(option);
  return command.hook('preAction', (_program, called) => refuseNonsense(called));
}

/** What cannot be meant is wrong use, and told before anything is done. */
function refuseNonsense(command: Command): void {
  const settings = command.opts<ServerSettings | WorkerSettings>();
  const isTemporal = settings.engine === 'temporal';
  const problem = meaninglessOption(command) ?? (isTemporal ? temporalContradiction(settings) : undefined);
  if (problem !== undefined) command.error(problem);
}

type Commands = typeof import('./commands.js');

/** Runs a command to its end and leaves with its exit code. Loaded only now: help and wrong use need none of it. */
async function run(
  command: (commands: Commands) => Promise<number>,
  where: { port?: number; host?: string } = {},
): Promise<void> {
  try {
    process.exit(await command(await import('./commands.js')));
  } catch (error) {
    const line = explainStartFailure(error, where);
    console.error(`${err.red('perdure:')} ${line ?? (error instanceof Error ? error.stack : String(error))}`);
    process.exit(1);
  }
}

/** Of the processes that run the workflows. */
function workerOptions(count: number): Option[] {
  return [
    ...[catalogOption(), workersOption(count), spareWorkersOption(), stepSlotsOption(), turnSlotsOption()],
    ...[versionNameOption(), resultFormatOption(), publicUrlOption()],
  ];
}

function traceOptions(mode: TraceMode): Option[] {
  return [tracesOption(mode), traceBucketOption(), traceRegionOption(), traceEndpointOption()];
}

command('dev', 'server and workers for development: loads changed files again, prints what to try', [
  ...[portOption(), hostOption(), dataOption(), retentionOption(), minFreeSpaceOption(), runTimeoutOption()],
  ...[...workerOptions(1), tokenOption(), tokenFileOption(), corsOption(), ...traceOptions('all')],
  ...[privateAddressesOption('all'), noUiOption()],
])
  .argument('[folder]', 'folder of workflows, default ./workflows')
  .action((folder: string | undefined, settings: ServerSettings) =>
    run((commands) => commands.dev(folder, settings), settings),
  );

command('serve', 'server for production, with workers for a folder if one is given', [
  ...[
    workflowsOption(),
    portOption(),
    probePortOption(),
    hostOption(),
    dataOption(),
    retentionOption(),
    minFreeSpaceOption(),
  ],
  ...[...workerOptions(spareCores()), tokenOption(), tokenFileOption(), corsOption(), noUiOption()],
  ...[...traceOptions('on-demand'), privateAddressesOption('none'), logLevelOption()],
  ...[shutdownGraceOption(), runTimeoutOption()],
]).action((settings: ServeSettings) => run((commands) => commands.serve(settings), settings));

command('worker', 'workers for a server that runs elsewhere, or on a Temporal cluster', [
  ...[serverOption(), tokenOption(), tokenFileOption(), ...workerOptions(spareCores())],
  ...[dataOption(), ...traceOptions('on-demand'), privateAddressesOption('none'), logLevelOption()],
  shutdownGraceOption(),
])
  .argument('[folder]', 'folder of workflows, default ./workflows')
  .action((folder: string | undefined, settings: WorkerSettings) =>
    run((commands) => commands.worker(folder, settings)),
  );

command(
  'doctor',
  'whether this machine, its settings and its workflows are fit, with a remedy for what is not',
  [
    ...[dataOption(), minFreeSpaceOption(), portOption(), hostOption(), tokenOption(), tokenFileOption()],
    new Option('--json', 'the findings as JSON, and nothing else'),
  ],
)
  .argument('[folder]', 'folder of workflows, default ./workflows')
  .action((folder: string | undefined, settings: DoctorOptions) =>
    run(async () => {
      endWhenUnread();
      return (await import('./doctor/doctor.js')).doctor(workflowsFolder(folder), settings);
    }),
  );

program
  .command('check')
  .description('looks through the data folder of a server that is stopped, and says what is damaged')
  .addOption(dataOption())
  .option('--json', 'the report as JSON')
  .option('--accept-loss', 'go on without the commits that are missing')
  .action((settings: CheckSettings) =>
    run(async () => {
      endWhenUnread();
      return (await import('./check.js')).check(settings);
    }),
  );

addTools(program);
addCalls(program);

hideCommandLine();
try {
  await program.parseAsync();
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  // Help and version end here too, with 0; everything else is wrong use.
  process.exit(error.exitCode === 0 ? 0 : 2);
}
