/**
 * No worker process outlives its supervisor, also while it loads files that never let go of the main thread. The watchdog
 * sees to that once there is one, which needs to know what has been loaded; until then this does.
 */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

/** Built code, from src/ and from dist/ alike. */
const THREAD = new URL('../../../dist/worker/watchdog/parent-thread.js', import.meta.url);

/** Answers with what ends it. @throws when it could not begin, as in a working folder that has been removed */
export async function endWithParent(parentPid: number): Promise<() => void> {
  const thread = new Worker(THREAD, {
    ...{ workerData: { parentPid }, execArgv: [], env: {}, stdout: false, stderr: false },
  });
  thread.unref();
  await once(thread, 'online');
  return () => void thread.terminate();
}
