import { describe, expectTypeOf, test } from 'vitest';
import {
  CancellationScope,
  condition,
  defineQuery,
  defineSignal,
  defineUpdate,
  executeInParallel,
  type JobResult,
  setHandler,
  step,
  type WorkflowInfo,
  workflow,
  z,
} from './index.js';

/** Checked by the type checker; nothing of it is ever run. */
const typesOnly = (_fn: () => unknown) => {};

const order = z.object({
  id: z.string(),
  cents: z.number().default(1),
  at: z.iso.datetime().transform((text) => new Date(text)),
});
type OrderIn = { id: string; cents?: number | undefined; at: string };
type OrderOut = { id: string; cents: number; at: Date };

describe('types', () => {
  test('a step takes what goes into its schema, its fn what comes out, and its result is parsed', () => {
    const charge = step({
      name: 'charge',
      inputSchema: order,
      outputSchema: z.object({ receipt: z.string().transform((text) => text.length) }),
      fn: async (input) => {
        expectTypeOf(input).toEqualTypeOf<OrderOut>();
        return { receipt: 'r' };
      },
    });
    expectTypeOf(charge).parameter(0).toEqualTypeOf<OrderIn>();
    expectTypeOf(charge).returns.resolves.toEqualTypeOf<{ receipt: number }>();
    typesOnly(() => [
      // @ts-expect-error the date goes in as a text
      charge({ id: 'a', at: new Date() }),
      // @ts-expect-error the input is required
      charge(),
      // @ts-expect-error the output does not fit its schema
      step({ name: 'bad', outputSchema: z.string(), fn: () => 1 }),
    ]);
  });

  test('a step without schemas has the types of its fn', () => {
    const ship = step({ name: 'ship', fn: async (orderId: string) => ({ tracking: orderId }) });
    expectTypeOf(ship).parameters.toEqualTypeOf<[input: string]>();
    expectTypeOf(ship).returns.resolves.toEqualTypeOf<{ tracking: string }>();
    const none = step({ name: 'none', fn: () => 1 });
    expectTypeOf(none).parameters.toEqualTypeOf<[input?: unknown]>();
    expectTypeOf(none).returns.resolves.toEqualTypeOf<number>();
    const optional = step({
      name: 'optional',
      inputSchema: z.string().optional(),
      fn: (text) => text ?? 'none',
    });
    expectTypeOf(optional).parameters.toEqualTypeOf<[input?: string | undefined]>();
  });

  test('a workflow called as a child is typed by its schemas', () => {
    const child = workflow({
      name: 'child',
      inputSchema: order,
      outputSchema: z.object({ total: z.number().default(0) }),
      fn: async (input, context) => {
        expectTypeOf(input).toEqualTypeOf<OrderOut>();
        expectTypeOf(context.info).toEqualTypeOf<WorkflowInfo>();
        expectTypeOf(context.control.continueAsNew).parameter(0).toEqualTypeOf<OrderIn>();
        if (context.control.isContinueAsNewSuggested())
          return context.control.continueAsNew({ id: 'a', at: '' });
        return {};
      },
    });
    expectTypeOf(child).parameter(0).toEqualTypeOf<OrderIn>();
    expectTypeOf(child).returns.resolves.toEqualTypeOf<{ total: number }>();
    typesOnly(() => [
      child({ id: 'a', at: '' }, { workflowId: 'x', detached: true, catalog: 'other' }),
      // @ts-expect-error not an option of a child
      child({ id: 'a', at: '' }, { taskQueue: 'x' }),
      // @ts-expect-error cents is a number
      child({ id: 'a', at: '', cents: '1' }),
    ]);
  });

  test('a workflow without schemas has the types of its fn', () => {
    const plain = workflow({ name: 'plain', fn: async (n: number) => n > 1 });
    expectTypeOf(plain).parameter(0).toEqualTypeOf<number>();
    expectTypeOf(plain).returns.resolves.toEqualTypeOf<boolean>();
    const output = workflow({ name: 'output', outputSchema: z.string(), fn: (n: number) => String(n) });
    expectTypeOf(output).parameter(0).toEqualTypeOf<number>();
    expectTypeOf(output).returns.resolves.toEqualTypeOf<string>();
    const nothing = workflow({ name: 'nothing', fn: async () => {} });
    typesOnly(() => [nothing(), nothing(undefined, { workflowId: 'x' })]);
  });

  test('handlers are typed by their definitions', () => {
    const approve = defineSignal<[{ by: string }]>('approve');
    const total = defineQuery<number, [string]>('total');
    const pay = defineUpdate<string, [number]>('pay');
    typesOnly(() => {
      setHandler(approve, ({ by }) => expectTypeOf(by).toEqualTypeOf<string>());
      setHandler(approve, async () => {});
      setHandler(total, (currency) => {
        expectTypeOf(currency).toEqualTypeOf<string>();
        return 1;
      });
      // @ts-expect-error a query answers at once
      setHandler(total, async () => 1);
      setHandler(pay, async (amount) => `paid ${amount.toFixed()}`, {
        validator: (amount) => expectTypeOf(amount).toEqualTypeOf<number>(),
      });
      // @ts-expect-error an update answers what it declares
      setHandler(pay, () => 1);
      setHandler(approve, undefined);
    });
  });

  test('waiting and parallel work', () => {
    typesOnly(() => {
      expectTypeOf(condition(() => true)).resolves.toEqualTypeOf<void>();
      expectTypeOf(condition(() => true, '3 days')).resolves.toEqualTypeOf<boolean>();
      expectTypeOf(executeInParallel({ jobs: [() => Promise.resolve(1), () => 2] })).resolves.toEqualTypeOf<
        JobResult<number>[]
      >();
      expectTypeOf(CancellationScope.nonCancellable(async () => 'x')).resolves.toEqualTypeOf<string>();
    });
  });
});
