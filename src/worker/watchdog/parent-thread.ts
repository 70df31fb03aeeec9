/** Ends the process when its parent is gone, whatever the main thread does. Runs as a thread of its own (parent.ts). */
import { workerData } from 'node:worker_threads';
import { CHECK_INTERVAL_MS } from './watchdog-memory.js';

const { parentPid } = workerData as { parentPid: number };

setInterval(() => {
  if (process.ppid !== parentPid) process.kill(process.pid, 'SIGKILL');
}, CHECK_INTERVAL_MS);
