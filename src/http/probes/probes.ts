/**
 * A port for probes alone. On the port of the API they wait with everybody else: a probe that makes a new connection is
 * behind thousands of others when those come at once, and whoever restarts a server that is merely busy makes it worse.
 */
import { Worker } from 'node:worker_threads';
import type { Log } from '../../core/log.js';
import type { FromMain, ProbeThreadData, ToMain } from './messages.js';

/** Built code, from src/ and from dist/ alike. */
const THREAD = new URL('../../../dist/http/probes/thread.js', import.meta.url);
const MEMORY = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 8 };

export interface Probes {
  /** Where they are answered, as a URL for clients on this machine. */
  url: string;
  close(): Promise<void>;
}

export interface ProbesOptions extends ProbeThreadData {
  /** Undefined where the service can serve; otherwise why not. */
  whyNotReady(): Promise<string | undefined>;
  log: Log;
}

/** @throws what the system says of a port or an address that cannot be listened on */
export async function openProbes({ host, port, whyNotReady, log }: ProbesOptions): Promise<Probes> {
  const workerData: ProbeThreadData = { host, port };
  const thread = new Worker(THREAD, {
    ...{ workerData, execArgv: [], env: {}, stdout: false, stderr: false, resourceLimits: MEMORY },
  });
  const ended = new Promise<void>((resolve) => thread.once('exit', () => resolve()));
  const send = (message: FromMain) => thread.postMessage(message);
  let isClosing = false;
  let isLooking = false;

  /** One look at a time: on a cluster that is away each takes long. */
  const look = async () => {
    if (isLooking) return;
    isLooking = true;
    try {
      send({ kind: 'readiness', whyNot: await whyNotReady() });
    } finally {
      isLooking = false;
    }
  };

  const url = await new Promise<string>((resolve, reject) => {
    thread.on('error', reject);
    thread.on('message', (message: ToMain) => {
      switch (message.kind) {
        case 'listening':
          return resolve(message.url);
        case 'failed':
          return reject(Object.assign(new Error(message.error.message), { code: message.error.code }));
        case 'ask':
          send({ kind: 'alive' });
          void look();
      }
    });
  }).catch(async (error: unknown) => {
    await thread.terminate();
    throw error;
  });
  thread.on('error', (error) => log.error({ err: error }, 'the thread that answers probes failed'));
  thread.on('exit', () => {
    if (!isClosing) log.error({}, 'probes are not answered any more: restart the server');
  });
  thread.unref();

  return {
    url,
    async close() {
      isClosing = true;
      thread.ref();
      send({ kind: 'close' });
      await ended;
    },
  };
}
