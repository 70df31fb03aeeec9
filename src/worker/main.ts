/** The program of a worker process of the embedded engine. */
import { allowPrivateAddresses } from '../sdk/outbound/exchange.js';
import { runWorkerProcess } from './process.js';
import { Worker, type WorkerOptions } from './worker.js';

/** A server on the same machine answers the first dial within milliseconds. */
const FIRST_DIAL_MS = 2_000;

runWorkerProcess<WorkerOptions>((loaded, options, { log }) => {
  allowPrivateAddresses(options.allowPrivateAddresses);
  const worker = new Worker(loaded, options, log);
  return {
    // A server that is not there yet does not make the workflows any less ready.
    started: Promise.race([
      worker.registered,
      new Promise<void>((resolve) => setTimeout(resolve, FIRST_DIAL_MS)),
    ]),
    registered: worker.registered,
    drain: (graceMs) => worker.drain(graceMs),
    close: (reason) => worker.close(reason),
    exiting: () => worker.exiting(),
  };
});
