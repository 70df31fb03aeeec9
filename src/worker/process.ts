/**
 * A worker process, whatever kind of worker it runs. It belongs to its supervisor: it gets everything it needs from
 * it, and never outlives it.
 *
 * User code shares this process, so whatever goes wrong in a way that cannot be told from our own state ends it; the
 * supervisor starts another one, and the runs go on there by replay.
 */
import { writeSync } from 'node:fs';
import { toFailure } from '../core/history/failure.js';
import type { Log } from '../core/log.js';
import { unheardSdk } from '../telemetry/api.js';
import { LoadError } from './loading/load-error.js';
import { type LoadedWorkflows, loadWorkflows } from './loading/loader.js';
import { logLine } from './log-line.js';
import { type ClosingRun, type FromChild, LOG_MARK, type ToChild } from './supervision/child-protocol.js';
import { endWithParent } from './watchdog/parent.js';

/** A worker at work in this process. */
export interface ProcessWorker {
  /** Resolves once it has done what it can to be found by its engine. Rejects when it can never work. */
  readonly started: Promise<void>;
  /** Resolves once its engine knows it, which may be long after, or never while it is refused. */
  readonly registered: Promise<void>;
  /** Takes nothing new, gives running steps `graceMs` to end, then aborts them. */
  drain(graceMs: number): Promise<void>;
  /** User code has broken the process: says what is waiting to be said, and whose code it was, and nothing more. */
  close(reason: string): Promise<void>;
  /** User code ends the process at this moment. Says so; nothing asynchronous happens any more. */
  exiting?(): void;
}

export interface WorkerContext {
  log: Log;
  /** Ends the process, and another one takes its place. */
  fail(reason: string, error: unknown): void;
  /** Tells whoever supervises this process. */
  closing(run: ClosingRun): void;
}

export type StartWorker<Options> = (
  loaded: LoadedWorkflows,
  options: Options,
  context: WorkerContext,
) => ProcessWorker | Promise<ProcessWorker>;

/** Without a supervisor's word, such as when a terminal interrupts the whole group of processes. */
const DEFAULT_GRACE_MS = 10_000;
/** For what is already on its way to the server when user code has broken the process. */
const LAST_WORDS_MS = 200;

/** Makes this process a worker's, from the first word of its supervisor to its end. */
export function runWorkerProcess<Options>(startWorker: StartWorker<Options>): void {
  const log = childLog();
  const tell = takeChannel();
  let worker: ProcessWorker | undefined;
  let ending = false;

  const start = async ({
    supervisor,
    directory,
    options,
    snapshot,
  }: Extract<ToChild, { kind: 'start' }>): Promise<void> => {
    let loaded: LoadedWorkflows | undefined;
    try {
      const leaveParentToWatchdog = await endWithParent(supervisor);
      loaded = await loadWorkflows(directory, { snapshot });
      tell({ kind: 'loaded' });
      const unheard = unheardSdk();
      if (unheard !== undefined) log.warn({}, unheard);
      process.on('uncaughtException', (error, origin) => {
        const what =
          origin === 'unhandledRejection'
            ? 'a promise was rejected and nobody handled it'
            : 'an error was thrown';
        fail(`user code broke this worker: ${what} outside any step`, error);
      });
      worker = await startWorker(loaded, options as Options, {
        log,
        fail,
        closing: (run) => tell({ kind: 'closing', run }),
      });
      void worker.registered.then(() => tell({ kind: 'registered' }));
      await worker.started;
      leaveParentToWatchdog();
      tell({ kind: 'ready', outside: loaded.outside, ...(!snapshot && { snapshot: loaded.snapshot }) });
    } catch (error) {
      const isKnown = error instanceof LoadError;
      const problems = isKnown ? error.problems : [{ message: describe(error) }];
      tell({
        kind: 'loadFailed',
        directory,
        problems,
        outside: loaded?.outside ?? (isKnown ? error.outside : []),
      });
    }
  };

  const drain = async (graceMs: number): Promise<void> => {
    if (ending) return;
    ending = true;
    await worker?.drain(graceMs);
    process.exit(0);
  };

  const fail = (reason: string, error: unknown): void => {
    log.error({ error: describe(error) }, `${reason}; a new worker takes its place`);
    if (ending) return;
    ending = true;
    setTimeout(() => process.exit(1), LAST_WORDS_MS);
    void worker?.close(reason).finally(() => process.exit(1));
  };

  // The supervisor is gone. An orderly exit waits for threads and for what user code does in its own exit handlers, and
  // nobody would notice if it never came.
  process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
  process.on('exit', () => {
    if (!ending) worker?.exiting?.();
  });
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
  process.on('SIGHUP', () => void drain(DEFAULT_GRACE_MS));
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
    // User code may have left a line without its end.
    process.stdout.write(`\n${LOG_MARK}${logLine(level, fields, message)}\n`);
  };
  return { debug: say('debug'), info: say('info'), warn: say('warn'), error: say('error') };
}

/** Of anything that user code throws: whoever cannot say what it was could not say whose it was either. */
function describe(error: unknown): string {
  const { stackTrace, message } = toFailure(error);
  return stackTrace ?? message;
}
