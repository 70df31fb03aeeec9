/** Whether the service can serve, for all who are asked that. */
import { PerdureError } from '../core/errors.js';
import type { Log } from '../core/log.js';
import type { RouteContext } from './context.js';

/** Undefined where it can; otherwise why not. */
export async function whyNotReady(
  { engine, isDraining }: Pick<RouteContext, 'engine' | 'isDraining'>,
  log: Log,
): Promise<string | undefined> {
  if (isDraining()) return 'the server is shutting down';
  try {
    await engine.ready();
    return undefined;
  } catch (error) {
    if (!(error instanceof PerdureError)) log.error({ err: error }, 'the engine is not ready');
    return reasonOf(error);
  }
}

/** Anybody may ask, so only what is written for callers is told. A full disk has a word of its own, for alarms to match. */
function reasonOf(error: unknown): string {
  if (!(error instanceof PerdureError)) return 'the engine cannot serve';
  return error.name === 'StorageFullError' ? 'storage-full' : error.message;
}
