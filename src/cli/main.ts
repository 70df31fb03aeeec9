#!/usr/bin/env node
/** The command line. Exit codes: 0 ended as asked, 1 could not start or had to stop, 2 wrong use. */
import { readFileSync } from 'node:fs';
import { Command, CommanderError, type Option } from 'commander';
import pc from 'picocolors';
import type { TraceMode } from '../trace/modes.js';
import { meaninglessOption } from './meaningless.js';
import {
  catalogOption,
  corsOption,
  dataOption,
  engineOption,
  hostOption,
  logLevelOption,
  portOption,
  resultFormatOption,
  retentionOption,
  type ServerSettings,
  type ServeSettings,
  serverOption,
  shutdownGraceOption,
  spareCores,
  tokenOption,
  traceBucketOption,
  traceEndpointOption,
  traceRegionOption,
  tracesOption,
  type WorkerSettings,
  workersOption,
  workflowsOption,
} from './options.js';
import { explainStartFailure } from './start-failure.js';
import { temporalContradiction, temporalOptions } from './temporal-options.js';

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

const program = new Command('perdure')
  .description('A durable workflow service with an HTTP API')
  .version(version)
  .exitOverride()
  .configureOutput({
    outputError: (text, write) => write(`${pc.red('perdure:')} ${text.replace(/^error: /, '')}`),
  });

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
    console.error(`${pc.red('perdure:')} ${line ?? (error instanceof Error ? error.stack : String(error))}`);
    process.exit(1);
  }
}

function traceOptions(mode: TraceMode): Option[] {
  return [tracesOption(mode), traceBucketOption(), traceRegionOption(), traceEndpointOption()];
}

command('dev', 'server and workers for development: loads changed files again, prints what to try', [
  ...[portOption(), hostOption(), dataOption(), retentionOption(), catalogOption(), workersOption(1)],
  ...[tokenOption(), corsOption(), resultFormatOption(), ...traceOptions('all')],
])
  .argument('[folder]', 'folder of workflows, default ./workflows')
  .action((folder: string | undefined, settings: ServerSettings) =>
    run((commands) => commands.dev(folder, settings), settings),
  );

command('serve', 'server for production, with workers for a folder if one is given', [
  ...[workflowsOption(), portOption(), hostOption(), dataOption(), retentionOption(), catalogOption()],
  ...[workersOption(spareCores()), tokenOption(), corsOption(), resultFormatOption()],
  ...[...traceOptions('on-demand'), logLevelOption(), shutdownGraceOption()],
]).action((settings: ServeSettings) => run((commands) => commands.serve(settings), settings));

command('worker', 'workers for a server that runs elsewhere, or on a Temporal cluster', [
  ...[serverOption(), tokenOption(), catalogOption(), workersOption(spareCores()), resultFormatOption()],
  ...[dataOption(), ...traceOptions('on-demand'), logLevelOption(), shutdownGraceOption()],
])
  .argument('[folder]', 'folder of workflows, default ./workflows')
  .action((folder: string | undefined, settings: WorkerSettings) =>
    run((commands) => commands.worker(folder, settings)),
  );

try {
  await program.parseAsync();
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  // Help and version end here too, with 0; everything else is wrong use.
  process.exit(error.exitCode === 0 ? 0 : 2);
}
