/** The input of a run or the payload of a message: as an argument, a file or standard input, checked before it is sent. */
import { once } from 'node:events';
import { fstatSync, readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CatalogEntry, Client } from '../../client/index.js';
import { PerdureError } from '../../core/errors.js';
import { silentLog } from '../../core/log.js';
import { nearestName } from '../../core/values/nearest.js';
import type { Grounds } from '../../http/schema/grounds.js';
import { PayloadCheck } from '../../http/wire/payload-check.js';
import { CommandError, EXIT, issueLine } from './failure.js';
import { parseJson } from './json-text.js';
import { say } from './screen.js';

export interface Given {
  /** JSON, as the argument after the names. */
  argument: string | undefined;
  /** `--input`: JSON, `@file`, or `-` for standard input. */
  option: string | undefined;
}

/** Undefined when none was given. @throws CommandError */
export async function readInput({ argument, option }: Given): Promise<unknown> {
  if (argument !== undefined && option !== undefined)
    throw wrong('the input is given twice: as an argument and with --input');
  const given = option ?? argument;
  if (given === '-') return parsed(await standardInput(), 'standard input');
  if (given?.startsWith('@')) return parsed(readText(given.slice(1)), given.slice(1));
  if (given !== undefined) return parsed(given, 'the input');
  const source = sourceOfInput();
  if (source === 'none' || (source === 'socket' && !(await begins()))) return undefined;
  const piped = await standardInput();
  return piped.trim() === '' ? undefined : parsed(piped, 'standard input');
}

/** Whether somebody has put something into standard input; a program that was started without one has none. */
function sourceOfInput(): 'pipe' | 'socket' | 'none' {
  try {
    const input = fstatSync(0);
    if (input.isSocket()) return 'socket';
    return input.isFIFO() || input.isFile() ? 'pipe' : 'none';
  } catch {
    return 'none';
  }
}

/** Somebody who did not mean it as the input would wait without end, and not know for what. */
const SILENCE_MS = 3_000;

/** Programs that start others give them a socket where a shell gives a pipe, and many never use it or close it. */
async function begins(): Promise<boolean> {
  const timer = new AbortController();
  const { signal } = timer;
  try {
    const begun = once(process.stdin, 'readable', { signal }).then(() => true);
    const isBegun = await Promise.race([begun, sleep(SILENCE_MS, false, { signal })]);
    if (isBegun) return true;
    say(
      'nothing came on standard input, so there is no input; one that takes its time is given with --input -',
    );
    process.stdin.destroy();
    return false;
  } finally {
    timer.abort();
  }
}

async function standardInput(): Promise<string> {
  const told = setTimeout(
    () =>
      say(
        'waiting for the end of standard input, which is the input; give it as an argument or with --input otherwise',
      ),
    SILENCE_MS,
  );
  try {
    return await text(process.stdin);
  } finally {
    clearTimeout(told);
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw wrong(`${path} cannot be read (${code}): give --input @FILE with a file of JSON`);
  }
}

function parsed(json: string, whose: string): unknown {
  try {
    return parseJson(json);
  } catch (error) {
    throw wrong(`${whose} is not JSON (${(error as Error).message})${hintFor(json)}`);
  }
}

/** For what people type most, or what their shell leaves of it. */
function hintFor(json: string): string {
  if (/^[\w .-]+$/.test(json)) return `: a text needs quotes of its own, such as '"${json}"'`;
  if (/^\s*\{/.test(json))
    return `: names and texts need double quotes, and all of it single ones, such as '{"name": "Ada"}'`;
  return '';
}

/** The workflow of that name or alias. @throws CommandError with the nearest names */
export async function findWorkflow(
  client: Client,
  name: string,
  catalog: string | undefined,
): Promise<CatalogEntry> {
  const { workflows, catalog: found } = await client.catalog(catalog);
  const entry =
    workflows.find((each) => each.name === name) ?? workflows.find(({ aliases }) => aliases.includes(name));
  if (entry) return entry;
  if (workflows.length === 0) {
    throw new CommandError(
      EXIT.notFound,
      `the catalog "${found}" has no workflows yet: is a worker running for it?`,
    );
  }
  const names = workflows.flatMap((each) => [each.name, ...each.aliases]).sort();
  const nearest = nearestName(name, names);
  const hint = nearest === undefined ? `it has ${names.join(', ')}` : `did you mean "${nearest}"?`;
  throw new CommandError(EXIT.notFound, `the catalog "${found}" has no workflow "${name}": ${hint}`);
}

/** What is published of what a value is for, and by what it may be refused. */
export interface Expected {
  published: unknown;
  /** Undefined where the worker alone can tell. */
  grounds: Grounds | undefined;
  /** Such as `workflow "order"`. */
  whose: string;
}

/**
 * By the server's own rule: what it would take is not refused here, such as a text for a number where the schema coerces.
 * Where only the worker can tell, what does not look right is told, and sent. @throws CommandError with the path of everything
 * that does not fit
 */
export function requireFit({ published, grounds, whose }: Expected, value: unknown, field: string): void {
  const misfits = (by: Grounds): string[] => {
    try {
      new PayloadCheck(silentLog).check(by, value, field, whose);
      return [];
    } catch (error) {
      if (!(error instanceof PerdureError)) throw error;
      return (error.details.issues ?? []).map(issueLine);
    }
  };
  if (grounds) {
    const lines = misfits(grounds);
    if (lines.length === 0) return;
    const remedy = 'Nothing was sent. --no-check leaves the check to the server.';
    throw wrong([`the ${field} does not fit ${whose}:`, ...lines, remedy].join('\n'));
  }
  if (published === null || published === undefined) return;
  const lines = misfits({ schema: published as Record<string, unknown>, orNothing: true });
  if (lines.length === 0) return;
  say(
    [
      `the ${field} does not look like what ${whose} expects; it is sent, and the worker decides:`,
      ...lines,
    ].join('\n'),
  );
}

const wrong = (message: string) => new CommandError(EXIT.wrongUse, message);
