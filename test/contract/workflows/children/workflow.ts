import { CancellationScope, condition, defineSignal, setHandler, sleep, workflow, z } from 'perdure';
import { continuesAndWaits } from '../continuing/workflow.js';
import { pausable } from '../pausing/workflow.js';
import { triedAgain } from '../policies/workflow.js';
import { described, settled } from '../shared/described.js';

export const child = workflow({
  name: 'child',
  inputSchema: z.object({
    how: z.enum(['return', 'throw', 'wait', 'continue', 'who']),
    value: z.unknown().optional(),
  }),
  fn: async ({ how, value }, context): Promise<unknown> => {
    switch (how) {
      case 'return':
        return { got: value };
      case 'throw':
        throw Object.assign(new RangeError('the child fell'), { code: 'E_CHILD' });
      case 'continue':
        if (Number(value) === 0) return 'end of the chain';
        return context.control.continueAsNew({ how, value: Number(value) - 1 });
      case 'who':
        return context.info;
      case 'wait':
        await condition(() => false);
    }
    return undefined;
  },
});

export const timedChild = workflow({
  name: 'timedChild',
  options: { executionTimeout: '50ms' },
  fn: async () => {
    await condition(() => false);
  },
});

interface ParentInput {
  how: 'return' | 'throw' | 'wait' | 'continue' | 'who';
  value?: unknown;
  workflowId?: string;
  detached?: boolean;
}

/** Gives what its child gave, result or error. */
export const parent = workflow({
  name: 'parent',
  fn: async (input) => {
    const { how, value, ...options } = input as ParentInput;
    return settled(child({ how, value }, options));
  },
});

/** Lets its child's error out. */
export const carelessParent = workflow({
  name: 'carelessParent',
  fn: async (input) => {
    const { how, value, ...options } = input as ParentInput;
    return child({ how, value }, options);
  },
});

export const timedParent = workflow({ name: 'timedParent', fn: async () => settled(timedChild(undefined)) });

/** Its child is tried several times; what counts is how that ends. */
export const parentOfRetried = workflow({
  name: 'parentOfRetried',
  fn: async (input) => settled(triedAgain(input)),
});

const end = defineSignal<['return' | 'throw' | 'continue']>('end');

/** Starts a child that waits, then ends as it is told while the child is still there. */
export const leavesChild = workflow({
  name: 'leavesChild',
  fn: async (input, context) => {
    const { workflowId, detached, again } = input as {
      workflowId: string;
      detached: boolean;
      again?: boolean;
    };
    let how: string | undefined;
    setHandler(end, (given) => {
      how = given;
    });
    if (again) return 'continued';
    // Not awaited on purpose: its end is not what this workflow waits for.
    child({ how: 'wait' }, { workflowId, detached }).catch(() => undefined);
    await condition(() => how !== undefined);
    if (how === 'throw') throw new Error('the parent fell');
    if (how === 'continue') return context.control.continueAsNew({ workflowId, detached, again: true });
    return 'left';
  },
});

/** Asks for a child and is over in the same turn. */
export const asksAndLeaves = workflow({
  name: 'asksAndLeaves',
  fn: async (input) => {
    child({ how: 'wait' }, input as { workflowId: string; detached: boolean }).catch(() => undefined);
    return 'left';
  },
});

/** Cancels the scope of its child, not the whole workflow. */
export const cancelsChild = workflow({
  name: 'cancelsChild',
  fn: async (workflowId) => {
    const scope = new CancellationScope();
    const outcome = scope.run(() => settled(child({ how: 'wait' }, { workflowId: workflowId as string })));
    await sleep(50);
    scope.cancel();
    return outcome;
  },
});

/** Cancels its child when it is told to. */
export const cancelsContinuedChild = workflow({
  name: 'cancelsContinuedChild',
  fn: async (workflowId) => {
    let told = false;
    setHandler(end, () => {
      told = true;
    });
    const scope = new CancellationScope();
    const outcome = scope.run(() =>
      settled(continuesAndWaits('first', { workflowId: workflowId as string })),
    );
    await condition(() => told);
    scope.cancel();
    return outcome;
  },
});

export const cancelsChildAtOnce = workflow({
  name: 'cancelsChildAtOnce',
  fn: async (workflowId) => {
    const scope = new CancellationScope();
    const outcome = scope.run(() => settled(child({ how: 'wait' }, { workflowId: workflowId as string })));
    scope.cancel();
    return outcome;
  },
});

export const manyChildren = workflow({
  name: 'manyChildren',
  fn: async (count) => {
    const outcomes = await Promise.allSettled(
      Array.from({ length: count as number }, (_, value) =>
        child({ how: value % 3 === 2 ? 'throw' : 'return', value }),
      ),
    );
    return outcomes.map((outcome) =>
      outcome.status === 'fulfilled'
        ? outcome.value
        : described(outcome.reason).name !== undefined && 'failed',
    );
  },
});

/** A child of a child of …: each adds one. */
export const descends: (input: number) => Promise<number> = workflow({
  name: 'descends',
  inputSchema: z.number(),
  fn: async (depth): Promise<number> => (depth === 0 ? 0 : 1 + (await descends(depth - 1))),
});

export const grandparent = workflow({
  name: 'grandparent',
  fn: async (workflowId) => carelessParent({ how: 'wait', workflowId: workflowId as string }),
});

export const parentOfPausable = workflow({
  name: 'parentOfPausable',
  fn: async (input) => pausable(input),
});
