/** What can be done to several runs at once, each with what it does in words. */

import { reachable } from '../app/connection.js';
import { handleOf } from '../app/handles.js';
import type { IconName } from '../components/Icon.js';
import type { Run } from './runs-page.js';

export interface ResetPoint {
  stepName?: string;
}

export interface BulkAction {
  name: string;
  icon: IconName;
  isDangerous?: boolean;
  /** "3 runs" follows. */
  verb: string;
  /** What happens, and whether it can be undone. */
  effect: string;
  /** Which it means something for. */
  applies(run: Run): boolean;
  /** Why it does not for the others. */
  others: string;
  takes: 'nothing' | 'reason' | 'step';
  act(run: Run, given: { reason?: string; stepName?: string }): Promise<unknown>;
}

const isOpen = ({ status }: Run) => status === 'running';

export const BULK_ACTIONS: BulkAction[] = [
  {
    name: 'Pause',
    verb: 'Pause',
    icon: 'paused',
    effect: 'They start nothing new. Steps under way end and are kept. Resuming makes them go on.',
    applies: (run) => isOpen(run) && !run.paused,
    others: 'closed or paused already',
    takes: 'reason',
    act: (run, { reason }) => handleOf(run).pause({ reason }),
  },
  {
    name: 'Resume',
    verb: 'Resume',
    icon: 'play',
    effect: 'They go on where they were paused.',
    // Without a larger budget it would be paused again at once.
    applies: (run) => isOpen(run) && run.paused !== undefined && run.paused.by !== 'budget',
    others: 'not paused, or paused by a budget, which has to be raised on the page of the run',
    takes: 'nothing',
    act: (run) => handleOf(run).resume(),
  },
  {
    name: 'Stop',
    verb: 'Stop',
    icon: 'cancelled',
    effect: 'They are cancelled: their own cleanup runs, then they end. This cannot be undone.',
    applies: isOpen,
    others: 'closed already',
    takes: 'nothing',
    act: (run) => handleOf(run).stop(),
  },
  {
    name: 'Terminate',
    verb: 'Terminate',
    icon: 'terminated',
    isDangerous: true,
    effect: 'They end at once, without cleanup. This cannot be undone.',
    applies: isOpen,
    others: 'closed already',
    takes: 'reason',
    act: (run, { reason }) => handleOf(run).terminate({ reason }),
  },
  {
    name: 'Reset',
    verb: 'Reset',
    icon: 'reset',
    isDangerous: true,
    effect:
      'Each gets a new run that goes on after a step, or begins anew, with the same input. Those that are open are terminated.',
    applies: () => true,
    others: '',
    takes: 'step',
    act: (run, { stepName, reason }) =>
      handleOf(run).reset(stepName ? { stepName, reason } : { toStart: true, reason }),
  },
];

/** So many at a time: quick, and little beside what else the server has to do. */
const AT_A_TIME = 5;

/**
 * Does it to each, once. One that fails keeps nobody else from it, and while the server is away those that were not sent
 * wait: they would all fail at once, for no reason of their own. Resolves when all are done or `signal` was aborted.
 */
export async function actOnEach<T>(
  items: readonly T[],
  act: (item: T) => Promise<unknown>,
  onDone: (item: T, error: unknown) => void,
  signal: AbortSignal,
): Promise<void> {
  const rest = [...items];
  const next = async (): Promise<void> => {
    for (;;) {
      await reachable(signal);
      const item = signal.aborted ? undefined : rest.shift();
      if (item === undefined) return;
      try {
        await act(item);
        onDone(item, undefined);
      } catch (error) {
        onDone(item, error);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_A_TIME, items.length) }, next));
}
