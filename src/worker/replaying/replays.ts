/**
 * Replays on a thread of their own: the code of a workflow is run, and may loop without end or use up the memory. That costs
 * its thread and the history that it was given; the next one has another thread. It keeps no process alive that only waits.
 */
import inspector from 'node:inspector';
import { Worker } from 'node:worker_threads';
import type { HistoryEvent } from '../../core/history/event.js';
import { readHistory } from '../../core/history/read-wire-event.js';
import { invariant } from '../../core/invariant.js';
import type { ReplayResult } from '../../core/replay-result.js';
import type { FromThread, ReplaySource } from './replay-thread.js';

/** Built code, from src/ and from dist/ alike. */
const THREAD = new URL('../../../dist/worker/replaying/replay-thread.js', import.meta.url);
/** As long as a worker has for it. */
const LOAD_WITHIN_MS = 60_000;

/** The thread cannot load the folder. */
export class ReplayLoadError extends Error {
  override readonly name = 'LoadError';
}

/** The thread has ended, or does not answer. */
class ThreadLost extends Error {}

export class Replays {
  #thread: Worker | undefined;
  /** One history after the other: the thread can do no more, and each has its own time. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(private readonly source: ReplaySource) {}

  /** @throws ReplayLoadError */
  async load(): Promise<void> {
    await this.close();
    const thread = threadOf(this.source);
    this.#thread = thread;
    try {
      const answer = await answerOf(thread, LOAD_WITHIN_MS);
      if (answer.kind === 'refused') throw new ReplayLoadError(answer.message);
    } catch (error) {
      await this.close();
      if (!(error instanceof ThreadLost)) throw error;
      const where = 'folder' in this.source ? ` in ${this.source.folder}` : '';
      throw new ReplayLoadError(`the workflows${where} were not loaded: ${error.message}`);
    }
  }

  /**
   * `history` as the API gives it, with payloads: a page with all of it, several pages, or its events. `withinMs`: how long the
   * code may run for it. @throws HistoryFormatError, ReplayLoadError
   */
  async of(history: unknown, withinMs: number): Promise<ReplayResult> {
    const events = readHistory(history);
    const result = this.#last.then(() => this.#replay(events, withinMs));
    this.#last = result.catch(() => undefined);
    return result;
  }

  async close(): Promise<void> {
    const thread = this.#thread;
    this.#thread = undefined;
    await thread?.terminate();
  }

  async #replay(events: HistoryEvent[], withinMs: number): Promise<ReplayResult> {
    if (!this.#thread) await this.load();
    const thread = this.#thread!;
    try {
      // First, since what cannot be sent is never answered.
      thread.postMessage(events);
      const told = await answerOf(thread, withinMs);
      invariant(told.kind === 'result', 'a thread that has loaded answers with results');
      return told.result;
    } catch (error) {
      if (!(error instanceof ThreadLost)) throw error;
      await this.close();
      const { workflowType } = events[0]!.attributes as { workflowType: string };
      const message = `the code of workflow "${workflowType}" cannot be run: ${error.message}`;
      return { ok: false, message, eventId: null, expected: null, got: null };
    }
  }
}

function threadOf(source: ReplaySource): Worker {
  // Nothing of the author's runs in it outside the sandbox, and nothing of the loaders of this process is needed.
  if ('code' in source) return new Worker(THREAD, { workerData: source, execArgv: [] });
  const thread = new Worker(THREAD, { workerData: source, stdout: true });
  // What modules of the author print is not part of the answer.
  thread.stdout.pipe(process.stderr, { end: false });
  return thread;
}

/** The next thing that the thread says. Whoever looks at its code with a debugger may take as long as they like. @throws ThreadLost */
function answerOf(thread: Worker, withinMs: number): Promise<FromThread> {
  return new Promise((resolve, reject) => {
    const lost = (why: string) => () => end(() => reject(new ThreadLost(why)));
    const late = lost(
      `it did not come to rest within ${withinMs / 1_000} s, and may loop without end ("within" gives it longer)`,
    );
    const timer = inspector.url() === undefined ? setTimeout(late, withinMs) : undefined;
    const answered = (message: FromThread) => end(() => resolve(message));
    const failed = (error: Error) => lost(`it has ended its thread (${error.message})`)();
    const exited = lost('it has ended its thread');
    const end = (settle: () => void) => {
      clearTimeout(timer);
      thread.off('message', answered).off('error', failed).off('exit', exited).unref();
      settle();
    };
    thread.on('message', answered).on('error', failed).on('exit', exited).ref();
  });
}
