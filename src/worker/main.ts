/**
 * The worker process. It belongs to its supervisor: it gets everything it needs from it, and never outlives it.
 *
 * User code shares this process, so whatever goes wrong in a way that cannot be told from our own state ends it; the
 * supervisor starts another one, and the runs go on there by replay.
 */
import { writeSync } from 'node:fs';
import type { Log } from '../core/log.js';
import { type FromChild, LOG_MARK, type ToChild } from './child-protocol.js';
import { LoadError } from './load-error.js';
import { loadWorkflows } from './loader.js';
import { Worker } from './worker.js';

/** Without a supervisor's word, such as when a terminal interrupts the whole group of processes. */
const DEFAULT_GRACE_MS = 10_000;
/** For what is already on its way to the server when user code has broken the process. */
const LAST_WORDS_MS = 200;
/** A server on the same machine answers the first dial within milliseconds. */
const FIRST_DIAL_MS = 2_000;

const log = childLog();
const tell = takeChannel();
let worker: Worker | undefined;
let ending = false;

process.on('disconnect', () => process.exit(1));
process.on('message', (message: ToChild) => {
  switch (message.kind) {
    case 'start':
      void start(message);
      break;
    case 'drain':
      void drain(message.graceMs);
      break;
  }
});
process.on('SIGTERM', () => void drain(DEFAULT_GRACE_MS));
process.on('SIGINT', () => void drain(DEFAULT_GRACE_MS));

async function start({ directory, options }: Extract<ToChild, { kind: 'start' }>): Promise<void> {
  try {
    const loaded = await loadWorkflows(directory);
    process.on('uncaughtException', (error, origin) => void fail(error, origin));
    worker = new Worker(loaded, options, log);
    // A server that is not there yet does not make the workflows any less ready.
    await Promise.race([worker.registered, new Promise((resolve) => setTimeout(resolve, FIRST_DIAL_MS))]);
    tell({ kind: 'ready' });
  } catch (error) {
    const problems = error instanceof LoadError ? error.problems : [{ message: describe(error) }];
    tell({ kind: 'loadFailed', directory, problems });
  }
}

async function drain(graceMs: number): Promise<void> {
  if (ending) return;
  ending = true;
  await worker?.drain(graceMs);
  process.exit(0);
}

async function fail(error: unknown, origin: NodeJS.UncaughtExceptionOrigin): Promise<void> {
  const what =
    origin === 'unhandledRejection' ? 'a promise was rejected and nobody handled it' : 'an error was thrown';
  log.error(
    { error: describe(error) },
    `user code broke this worker: ${what} outside any step; a new worker takes its place`,
  );
  if (ending) return;
  ending = true;
  setTimeout(() => process.exit(1), LAST_WORDS_MS);
  await worker?.close();
  process.exit(1);
}

/** User code has no business on the channel, so it does not find it. */
function takeChannel(): (message: FromChild) => void {
  const send = process.send?.bind(process);
  if (!send) {
    writeSync(2, 'This program is started by perdure itself; run `perdure worker DIR` instead.\n');
    process.exit(2);
  }
  process.send = undefined;
  return (message) => send(message);
}

function childLog(): Log {
  const say = (level: keyof Log) => (fields: object, message: string) => {
    process.stdout.write(`${LOG_MARK}${JSON.stringify([level, fields, message])}\n`);
  };
  return { debug: say('debug'), info: say('info'), warn: say('warn'), error: say('error') };
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
