/**
 * The sandboxes of the workers in this process. To make one takes longer than most tests, and nothing of a run stays in
 * it, so one that a worker no longer needs is the next one's.
 */
import type { Log } from '../core/log.js';
import type { LoadedWorkflows } from '../worker/loading/loader.js';
import { createSandbox, type Sandbox } from '../worker/sandbox/host.js';
import { callbackAddress } from './callbacks.js';

interface Entry {
  sandbox: Sandbox;
  log: { current: Log };
}

export interface BorrowedSandbox {
  sandbox: Sandbox;
  giveBack(): void;
}

const free = new WeakMap<LoadedWorkflows, { cached: Entry[]; replayed: Entry[] }>();

export function borrowSandbox(
  loaded: LoadedWorkflows,
  isReplayingEveryTurn: boolean,
  log: Log,
): BorrowedSandbox {
  let pools = free.get(loaded);
  if (!pools) {
    pools = { cached: [], replayed: [] };
    free.set(loaded, pools);
  }
  const pool = isReplayingEveryTurn ? pools.replayed : pools.cached;
  const entry = pool.pop() ?? newEntry(loaded, isReplayingEveryTurn, log);
  entry.log.current = log;
  let isBorrowed = true;
  return {
    sandbox: entry.sandbox,
    giveBack() {
      if (!isBorrowed) return;
      isBorrowed = false;
      entry.sandbox.forgetAll();
      pool.push(entry);
    },
  };
}

function newEntry(loaded: LoadedWorkflows, isReplayingEveryTurn: boolean, first: Log): Entry {
  const log = { current: first };
  const say =
    (level: keyof Log): Log[keyof Log] =>
    (fields, message) =>
      log.current[level](fields, message);
  const sandbox = createSandbox({
    workflows: loaded.bundles,
    library: loaded.library,
    cacheSize: isReplayingEveryTurn ? 0 : Number.POSITIVE_INFINITY,
    stacks: loaded.sourceLines,
    callbackUrl: callbackAddress,
    log: { debug: say('debug'), info: say('info'), warn: say('warn'), error: say('error') },
  });
  return { sandbox, log };
}
