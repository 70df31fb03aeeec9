import {
  allHandlersFinished,
  CancellationScope,
  condition,
  defineQuery,
  defineSignal,
  defineUpdate,
  getExternalWorkflowHandle,
  isCancellation,
  setHandler,
  sleep,
  workflow,
} from 'perdure';
import type { Chore } from '../../chores.js';
import { act, stumble } from './steps.js';

interface BookInput {
  effects: string;
  signals?: string[];
  updates?: string[];
}

/** Writes down every message it gets, and returns them all. What it has gets over to the next run of its chain. */
export const book = workflow({
  name: 'book',
  fn: async (input, context) => {
    const { effects, signals = [], updates = [] } = input as BookInput;
    let isFinished = false;
    let isTurning = false;
    setHandler(defineSignal<[string]>('add'), (value) => void signals.push(value));
    setHandler(defineUpdate<number, [string]>('put'), async (value) => {
      await act({ effects, value });
      return updates.push(value);
    });
    setHandler(defineQuery<{ signals: string[]; updates: string[] }>('seen'), () => ({ signals, updates }));
    setHandler(defineSignal('turn'), () => {
      isTurning = true;
    });
    setHandler(defineSignal('finish'), () => {
      isFinished = true;
    });
    try {
      await condition(() => (isFinished || isTurning) && allHandlersFinished());
    } catch (error) {
      if (!isCancellation(error)) throw error;
      await CancellationScope.nonCancellable(() => act({ effects, value: 'cleanup' }));
      throw error;
    }
    if (isFinished) return { signals, updates };
    return context.control.continueAsNew({ effects, signals, updates });
  },
});

/** Does what its plan says; what comes out can be told without running it (../../chores.ts). */
export const chores = workflow({
  name: 'chores',
  fn: async (input, context) => {
    const { effects, plan, done = [] } = input as { effects: string; plan: Chore[]; done?: unknown[] };
    for (let at = 0; at < plan.length; at++) {
      const chore = plan[at]!;
      switch (chore.kind) {
        case 'act':
          done.push(await act({ effects, value: chore.value, forMs: chore.forMs }));
          break;
        case 'stumble':
          done.push(await stumble({ effects, value: chore.value }));
          break;
        case 'all':
          done.push(await Promise.all(chore.values.map((value) => act({ effects, value }))));
          break;
        case 'sleep':
          await sleep(chore.forMs);
          break;
        case 'child':
          done.push(await chores({ effects, plan: chore.plan }));
          break;
        case 'abandon':
          // Children that are asked to stop when this run closes.
          for (const value of chore.values) void book({ effects, signals: [value] }).catch(() => {});
          await sleep(1);
          break;
        case 'tell':
          try {
            await getExternalWorkflowHandle(chore.workflowId).signal('add', chore.value);
            done.push('told');
          } catch {
            done.push('not told');
          }
          break;
        case 'stopOther':
          await getExternalWorkflowHandle(chore.workflowId)
            .cancel()
            .catch(() => {});
          break;
        case 'again':
          return context.control.continueAsNew({ effects, plan: plan.slice(at + 1), done });
      }
    }
    return done;
  },
});
