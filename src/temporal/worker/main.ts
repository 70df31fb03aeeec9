/** The program of a worker process of a Temporal cluster. */
import { allowPrivateAddresses } from '../../sdk/outbound/exchange.js';
import { LoadError } from '../../worker/loading/load-error.js';
import { runWorkerProcess } from '../../worker/process.js';
import { loadPeer, MissingPeerError } from '../cluster/peers.js';
import type { TemporalWorkerOptions } from './worker.js';

runWorkerProcess<TemporalWorkerOptions>(async (loaded, options, context) => {
  allowPrivateAddresses(options.allowPrivateAddresses);
  try {
    const { TemporalWorker } = await loadPeer(() => import('./worker.js'));
    return new TemporalWorker(loaded, options, context);
  } catch (error) {
    if (!(error instanceof MissingPeerError)) throw error;
    throw new LoadError(loaded.directory, [{ message: error.message }]);
  }
});
