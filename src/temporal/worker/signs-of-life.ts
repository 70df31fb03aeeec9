/**
 * Signs of life of running steps, given without their authors' doing: by the main thread, and for as long as a step
 * blocks that one by a thread of their own (signs-of-life-thread.ts). A step that computes for long is no dead worker;
 * how long is too long the watchdog decides, and ends the process.
 */
import { Worker } from 'node:worker_threads';
import type { Context } from '@temporalio/activity';
import type { Payload } from '../../core/values/json.js';
import type { TemporalSettings } from '../cluster/connection.js';

/** Built code, from src/ and from dist/ alike. */
const THREAD = new URL('../../../dist/temporal/worker/signs-of-life-thread.js', import.meta.url);
/** A sign of life comes this often at first, then ever less often the longer a step runs. */
const FIRST_SIGN_MS = 1_000;
const SIGN_AT_RUNTIME_FRACTION = 0.1;
/** So that one that comes late, or is lost, is not taken for the end of the worker. */
export const SIGNS_PER_TIMEOUT = 4;

export interface ThreadData {
  settings: TemporalSettings;
  identity: string;
  /** The watchdog's, which go up whenever the main thread is alive. */
  counters: Int32Array;
}

/** Steps go by their task tokens. */
export type ToThread =
  | { kind: 'begin'; token: string; everyMs: number; details: Payload | undefined }
  | { kind: 'details'; token: string; details: Payload | undefined }
  | { kind: 'end'; token: string };

export interface Signs {
  /** What each sign has to repeat from now on, since the details of one replace those before it. */
  repeat(details: Payload | undefined): void;
  end(): void;
}

export class SignsOfLife {
  readonly #thread: Worker;

  constructor(data: ThreadData) {
    this.#thread = new Worker(THREAD, { workerData: data, execArgv: [] });
    this.#thread.unref();
  }

  /** Begins to give them for a step: with `beat`, as long as that can be called. */
  give({ info }: Context, details: Payload | undefined, beat: () => void): Signs {
    const maxMs = (info.heartbeatTimeoutMs ?? 0) / SIGNS_PER_TIMEOUT;
    const startedAt = performance.now();
    const token = info.base64TaskToken;
    let timer: NodeJS.Timeout;
    const wait = () => {
      const runtimeMs = performance.now() - startedAt;
      const waitMs = Math.max(FIRST_SIGN_MS, runtimeMs * SIGN_AT_RUNTIME_FRACTION);
      timer = setTimeout(
        () => {
          beat();
          wait();
        },
        Math.min(waitMs, maxMs),
      );
      timer.unref();
    };
    wait();
    this.#tell({ kind: 'begin', token, everyMs: maxMs, details });
    return {
      repeat: (details) => this.#tell({ kind: 'details', token, details }),
      end: () => {
        clearTimeout(timer);
        this.#tell({ kind: 'end', token });
      },
    };
  }

  #tell(message: ToThread): void {
    this.#thread.postMessage(message);
  }
}
