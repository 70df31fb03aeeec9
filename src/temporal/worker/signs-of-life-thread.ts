/** Gives the signs of life of steps while the main thread is blocked; see signs-of-life.ts. */
import { parentPort, workerData } from 'node:worker_threads';
import type { Payload } from '../../core/values/json.js';
import { CHECK_INTERVAL_MS, PROGRESS } from '../../worker/watchdog/watchdog-memory.js';
import { Cluster } from '../cluster/connection.js';
import { RefusedCall } from '../cluster/errors.js';
import { toPayloads } from '../translate/payload.js';
import type { ThreadData, ToThread } from './signs-of-life.js';

interface Step {
  everyMs: number;
  details: Payload | undefined;
  /** When this thread has last given a sign of it. */
  signAt: number;
}

/** A main thread that shows itself this often gives the signs itself. */
const SILENT_MS = 1_000;

const { settings, identity, counters } = workerData as ThreadData;
const steps = new Map<string, Step>();
let progressSeen = -1;
let silentSince = performance.now();
/** Made when it is first needed: most workers never block for that long. */
let cluster: Promise<Cluster> | undefined;

parentPort!.on('message', (message: ToThread) => {
  const { token } = message;
  switch (message.kind) {
    case 'begin':
      steps.set(token, { everyMs: message.everyMs, details: message.details, signAt: 0 });
      break;
    case 'details': {
      const step = steps.get(token);
      if (step) step.details = message.details;
      break;
    }
    case 'end':
      steps.delete(token);
  }
});

setInterval(() => {
  const now = performance.now();
  const progress = Atomics.load(counters, PROGRESS);
  if (progress !== progressSeen) {
    progressSeen = progress;
    silentSince = now;
  }
  if (now - silentSince < SILENT_MS) return;
  for (const [token, step] of steps) {
    if (now - step.signAt < step.everyMs) continue;
    step.signAt = now;
    void giveSign(token, step);
  }
}, CHECK_INTERVAL_MS);

async function giveSign(token: string, { everyMs, details }: Step): Promise<void> {
  try {
    cluster ??= Cluster.open(settings);
    const opened = await cluster;
    const request = {
      namespace: opened.namespace,
      identity,
      taskToken: Buffer.from(token, 'base64'),
      ...(details !== undefined && { details: toPayloads([details]) }),
    };
    await opened.call((service) => service.recordActivityTaskHeartbeat(request), {
      timeoutMs: everyMs,
      retryMs: everyMs,
    });
  } catch (error) {
    // The attempt is over, whatever its step still does. A cluster that is away is tried again with the next sign.
    if (error instanceof RefusedCall) steps.delete(token);
  }
}
