/**
 * `perdure replay`: whether the code that is here fits histories, from files or of the open runs of a server. What does not fit
 * would be held back if this code were deployed.
 */
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import type { Command } from 'commander';
import { type RunFilter, type RunListEntry, WorkflowNotFoundError } from '../../client/index.js';
import type { ReplayResult } from '../../core/replay-result.js';
import type { Replays } from '../../worker/replaying/replays.js';
import { canDraw, out } from '../colours.js';
import { type Connection, connect } from './connection.js';
import { CommandError, EXIT } from './failure.js';
import { parseJson } from './json-text.js';
import { plain, printJson, say } from './screen.js';

export interface ReplayFlags {
  workflows: string;
  open?: boolean;
  filter?: RunFilter;
  json?: boolean;
  /** How long the code of one history may run. */
  within: number;
}

/** A history, and what people know it by. */
interface Source {
  name: string;
  history: unknown;
  run?: Pick<RunListEntry, 'workflowId' | 'runId' | 'workflowType'>;
}

export async function replay(command: Command, files: string[], flags: ReplayFlags): Promise<void> {
  const { open, filter, workflows, json, within } = flags;
  if ((files.length === 0) === !open) {
    throw wrong(
      'say what to replay: files of histories, or --open for the open runs of a server, and not both',
    );
  }
  if (filter && !open) throw wrong('--filter chooses among the open runs of a server: it goes with --open');
  if (filter?.status !== undefined) throw wrong('--open is status=running: leave the other status out');
  // The server is asked first: it says at once when it is not there, and loading takes its time.
  const sources = open ? await openRuns(await connect(command), filter) : fromFiles(files);
  const replays = await loaded(workflows);
  const results: Record<string, unknown>[] = [];
  const isLive = !json && open && canDraw(process.stderr);
  let misfits = 0;
  for await (const { name, history, run } of sources) {
    const result = await checked(replays, name, history, within);
    results.push({ source: name, ...run, ...result });
    if (!result.ok) misfits++;
    if (!json) tell(name, result, { isQuiet: open === true });
    if (isLive) process.stderr.write(`\r\u001b[K${results.length} replayed`);
  }
  await replays.close();
  if (isLive) process.stderr.write('\r\u001b[K');
  if (json) printJson({ checked: results.length, misfits, results });
  const count = results.length;
  if (misfits === 0) {
    if (count === 0) say('there are no open runs to replay');
    else say(`${counted(count)} ${count === 1 ? 'fits' : 'fit'} the code in ${workflows}`);
    return;
  }
  throw new CommandError(
    EXIT.failed,
    `${misfits} of ${counted(count)} ${misfits === 1 ? 'does' : 'do'} not fit the code in ${workflows}: such runs would be held back. Put the change behind patched(), or keep workers of the old code until they have ended`,
  );
}

const counted = (count: number): string => (count === 1 ? '1 history' : `${count} histories`);

function tell(name: string, result: ReplayResult, { isQuiet }: { isQuiet: boolean }): void {
  if (result.ok) {
    if (!isQuiet) process.stdout.write(`${out.green('✓')} ${plain(name)}\n`);
    return;
  }
  process.stdout.write(`${out.red('✗')} ${plain(name)}\n    ${plain(result.message)}\n`);
}

/** @throws CommandError for a folder that cannot be loaded */
async function loaded(workflows: string): Promise<Replays> {
  const { Replays } = await import('../../worker/replaying/replays.js');
  const replays = new Replays({ folder: workflows });
  try {
    await replays.load();
    return replays;
  } catch (error) {
    if ((error as Error).name !== 'LoadError') throw error;
    throw wrong((error as Error).message);
  }
}

/** @throws CommandError for what is no history */
async function checked(
  replays: Replays,
  name: string,
  history: unknown,
  withinMs: number,
): Promise<ReplayResult> {
  try {
    return await replays.of(history, withinMs);
  } catch (error) {
    if (!(error instanceof Error) || error.name !== 'HistoryFormatError') throw error;
    throw wrong(
      `${name} cannot be replayed: ${error.message}. \`perdure history ID --payloads --json\` writes one that can`,
    );
  }
}

async function* fromFiles(files: string[]): AsyncIterable<Source> {
  for (const file of files) {
    const name = file === '-' ? 'standard input' : file;
    const json = file === '-' ? await text(process.stdin) : readText(file);
    try {
      yield { name, history: parseJson(json) };
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      throw wrong(`${name} is not JSON (${error.message}): give the history as the API answers it`);
    }
  }
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why = code === 'EISDIR' ? 'it is a folder: name the files in it' : code;
    throw wrong(`${file} cannot be read (${why})`);
  }
}

/** Of the catalog that this code would be deployed for; others have code of their own. */
async function openRuns(connection: Connection, filter?: RunFilter): Promise<AsyncIterable<Source>> {
  const { catalog } = await connection.quick.catalog(connection.catalog);
  return historiesOf(connection, { catalog, ...filter, status: 'running' });
}

async function* historiesOf({ quick }: Connection, filter: RunFilter): AsyncIterable<Source> {
  for await (const run of quick.runs(filter)) {
    const { workflowId, runId, workflowType } = run;
    const events: unknown[] = [];
    try {
      const handle = quick.handle(workflowId, runId);
      for await (const { runId: _, ...event } of handle.history({ includePayloads: true }))
        events.push(event);
    } catch (error) {
      // It has ended and is not kept any longer.
      if (error instanceof WorkflowNotFoundError) continue;
      throw error;
    }
    yield {
      name: `${workflowType} ${workflowId}`,
      history: events,
      run: { workflowId, runId, workflowType },
    };
  }
}

const wrong = (message: string) => new CommandError(EXIT.wrongUse, message);
