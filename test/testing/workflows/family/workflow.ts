import {
  CancellationScope,
  condition,
  defineUpdate,
  deprecatePatch,
  getExternalWorkflowHandle,
  patched,
  setHandler,
  sleep,
  workflow,
  workflowInfo,
  z,
} from 'perdure';
import { hopeless } from '../waiting/workflow.js';

export const countdown = workflow({
  name: 'countdown',
  fn: async (left: number, context): Promise<string> => {
    await sleep('1 day');
    return left === 0 ? 'liftoff' : context.control.continueAsNew(left - 1);
  },
});

/** Adds up to three, each sum in a run of its own. */
export const adding = workflow({
  name: 'adding',
  updates: { add: { inputSchema: z.number(), outputSchema: z.number() } },
  fn: async (sum: number, context): Promise<number> => {
    let next: number | undefined;
    setHandler(defineUpdate<number, [number]>('add'), async (amount) => {
      await sleep('1 hour');
      next = sum + amount;
      return next;
    });
    await condition(() => next !== undefined);
    const { control } = context;
    return next! >= 3 ? next! : control.continueAsNew(next!);
  },
});

export const parent = workflow({
  name: 'parent',
  fn: async (days: number) => `the child said ${await countdown(days, { workflowId: 'the-child' })}`,
});

export const hopelessParent = workflow({
  name: 'hopelessParent',
  fn: async () => hopeless(undefined, { workflowId: 'the-hopeless-child' }),
});

export const tryingAgain = workflow({
  name: 'tryingAgain',
  options: { retry: { maximumAttempts: 3, initialInterval: '1 hour' } },
  fn: async (_input: unknown, { info }) => {
    if (info.attempt < 3) throw new RangeError(`attempt ${info.attempt}`);
    return info.attempt;
  },
});

export const failing = workflow({
  name: 'failing',
  fn: async () => {
    throw Object.assign(new RangeError('too far', { cause: new Error('the road') }), { code: 'E_FAR' });
  },
});

export const impatient = workflow({
  name: 'impatient',
  options: { executionTimeout: '1 hour' },
  fn: async () => sleep('2 hours'),
});

/** Does all that leaves a record, and some things that it takes back before they do. */
export const eventful = workflow({
  name: 'eventful',
  fn: async (others: { waiting: string; stopped: string }) => {
    const took: string[] = [];
    if (patched('new-way')) took.push('new way');
    deprecatePatch('old-way');
    await CancellationScope.cancellable(async () => {
      const scope = CancellationScope.current();
      const unwanted = [countdown(1, { workflowId: 'never' }), sleep('1 day')];
      scope.cancel();
      await Promise.allSettled(unwanted);
    });
    try {
      await failing(undefined, { workflowId: 'failing-child' });
    } catch (error) {
      took.push(String(((error as Error).cause as { code?: string }).code));
    }
    await getExternalWorkflowHandle(others.waiting).signal('approve', { by: 'eventful' });
    await getExternalWorkflowHandle(others.stopped).cancel();
    await getExternalWorkflowHandle('nobody')
      .signal('approve')
      .catch((error: { code: string }) => took.push(error.code));
    await CancellationScope.withTimeout('1 hour', () => countdown(5, { workflowId: 'too-long' })).catch(
      (error: Error) => took.push(error.name),
    );
    took.push(String(Date.now() - workflowInfo().startedAt.getTime()));
    return took;
  },
});

export const endless = workflow({
  name: 'endless',
  fn: async () => {
    for (;;) await sleep('1 hour');
  },
});
