#!/usr/bin/env node
/** The command line. Exit codes: 0 ended as asked, 1 could not start or had to stop, 2 wrong use. */
import { readFileSync } from 'node:fs';
import { Command, CommanderError } from 'commander';
import pc from 'picocolors';
import {
  catalogOption,
  corsOption,
  dataOption,
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

program
  .command('dev')
  .description('server and workers for development: loads changed files again, prints what to try')
  .argument('[folder]', 'folder of workflows, default ./workflows')
  .addOption(portOption())
  .addOption(hostOption())
  .addOption(dataOption())
  .addOption(retentionOption())
  .addOption(catalogOption())
  .addOption(workersOption(1))
  .addOption(tokenOption())
  .addOption(corsOption())
  .addOption(resultFormatOption())
  .addOption(tracesOption('all'))
  .addOption(traceBucketOption())
  .addOption(traceRegionOption())
  .addOption(traceEndpointOption())
  .action((folder: string | undefined, settings: ServerSettings) =>
    run((commands) => commands.dev(folder, settings), settings),
  );

program
  .command('serve')
  .description('server for production, with workers for a folder if one is given')
  .addOption(workflowsOption())
  .addOption(portOption())
  .addOption(hostOption())
  .addOption(dataOption())
  .addOption(retentionOption())
  .addOption(catalogOption())
  .addOption(workersOption(spareCores()))
  .addOption(tokenOption())
  .addOption(corsOption())
  .addOption(resultFormatOption())
  .addOption(tracesOption('on-demand'))
  .addOption(traceBucketOption())
  .addOption(traceRegionOption())
  .addOption(traceEndpointOption())
  .addOption(logLevelOption())
  .addOption(shutdownGraceOption())
  .action((settings: ServeSettings) => run((commands) => commands.serve(settings), settings));

program
  .command('worker')
  .description('workers for a server that runs elsewhere')
  .argument('[folder]', 'folder of workflows, default ./workflows')
  .addOption(serverOption())
  .addOption(tokenOption())
  .addOption(catalogOption())
  .addOption(workersOption(spareCores()))
  .addOption(resultFormatOption())
  .addOption(logLevelOption())
  .addOption(shutdownGraceOption())
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
