import { describe, expect, expectTypeOf, test } from 'vitest';
import { EVENT_TYPES, type EventTypeName } from '../core/history/event.js';
import { ATTRIBUTES_KEYS } from '../http/wire/events.js';
import { workflow, z } from '../sdk/index.js';
import {
  createClient,
  type HistoryEvent,
  type RunFilter,
  type StatusRecord,
  type WorkflowHandle,
} from './index.js';
import type { AttributesKey } from './wire.js';

/** Checked by the type checker; nothing of it is ever run. */
const typesOnly = (_fn: () => unknown) => {};
const client = createClient({ baseUrl: 'http://localhost:1' });

const order = workflow({
  name: 'order',
  inputSchema: z.object({
    orderId: z.string(),
    cents: z.number().default(1),
    at: z.iso.datetime().transform((text) => new Date(text)),
  }),
  outputSchema: z.object({
    tracking: z.string(),
    at: z.string().transform((text) => new Date(text)),
    note: z.string().optional(),
  }),
  fn: async () => ({ tracking: 'x', at: '' }),
});
const declaring = workflow({
  name: 'declaring',
  signals: {
    approve: { inputSchema: z.object({ by: z.string().default('me') }) },
    tick: { description: 'Takes nothing' },
  },
  queries: {
    total: { inputSchema: z.string().optional(), outputSchema: z.object({ cents: z.number().default(0) }) },
  },
  fn: async () => 1,
});
type OrderIn = { orderId: string; cents?: number | undefined; at: string };
/** A date is a text in JSON. */
type OrderOut = { tracking: string; at: string; note?: string | undefined };

describe('types', () => {
  test('the input is what the schema takes, the output what it makes, through JSON', () => {
    const orders = client.workflow<typeof order>('order');
    expectTypeOf(orders.run).parameter(0).toEqualTypeOf<OrderIn>();
    expectTypeOf(orders.run).returns.resolves.toEqualTypeOf<OrderOut>();
    expectTypeOf(orders.start).parameter(0).toEqualTypeOf<OrderIn>();
    expectTypeOf(orders.start).returns.resolves.toEqualTypeOf<WorkflowHandle<typeof order>>();
    typesOnly(async () => {
      const handle = await orders.start({ orderId: 'a', at: '' }, { workflowId: 'a', timeoutMs: 1 });
      expectTypeOf(await handle.result()).toEqualTypeOf<OrderOut>();
      // @ts-expect-error the input is required
      await orders.run();
      // @ts-expect-error cents is a number
      await orders.run({ orderId: 'a', at: '', cents: '1' });
      // @ts-expect-error not an option of a start
      await orders.start({ orderId: 'a', at: '' }, { id: 'a' });
    });
  });

  test('an input that may be left out is left out, and nothing is null', () => {
    const nothing = workflow({ name: 'nothing', fn: async () => {} });
    const optional = workflow({ name: 'optional', inputSchema: z.string().optional(), fn: (text) => text });
    typesOnly(async () => {
      expectTypeOf(await client.workflow<typeof nothing>('nothing').run()).toEqualTypeOf<null>();
      expectTypeOf(await client.workflow<typeof optional>('optional').run()).toEqualTypeOf<string | null>();
      await client.workflow<typeof optional>('optional').start(undefined, { workflowId: 'x' });
    });
  });

  test('a workflow of which no type is known takes and gives anything', () => {
    typesOnly(async () => {
      expectTypeOf(await client.workflow('order').run({ any: 'thing' })).toBeAny();
      await client.workflow('order').run();
      await client.handle('id').signal('anything', 1);
      expectTypeOf(await client.handle('id').query('anything')).toBeUnknown();
    });
  });

  test('messages are typed by what the definition declares', () => {
    const handle = client.handle<typeof declaring>('id');
    typesOnly(async () => {
      await handle.signal('approve', { by: 'ada' });
      await handle.signal('approve', {}, { timeoutMs: 1 });
      await handle.signal('tick');
      // @ts-expect-error it takes a payload
      await handle.signal('approve');
      // @ts-expect-error another payload
      await handle.signal('approve', { by: 1 });
      // @ts-expect-error not a signal of it
      await handle.signal('aprove', { by: 'ada' });
      expectTypeOf(await handle.query('total', 'eur')).toEqualTypeOf<{ cents: number }>();
      expectTypeOf(await handle.query('total')).toEqualTypeOf<{ cents: number }>();
      // @ts-expect-error not a query of it
      await handle.query('sum');
      // It declares no updates, so any may be there.
      expectTypeOf(await handle.update('anything', 1)).toBeUnknown();
    });
  });

  test('events say by their name which attributes they have', () => {
    typesOnly((event?: HistoryEvent) => {
      if (event?.eventTypeName === 'TIMER_FIRED') return event.timerFiredEventAttributes;
      if (event?.eventTypeName === 'ACTIVITY_TASK_SCHEDULED')
        return event.activityTaskScheduledEventAttributes;
      // @ts-expect-error not of this type
      return event?.eventTypeName === 'TIMER_STARTED' ? event.timerFiredEventAttributes : undefined;
    });
  });

  test('every call takes a signal, and filters know their values', () => {
    typesOnly(async () => {
      const { signal } = new AbortController();
      for await (const run of client.runs({ status: 'failed', startedAfter: new Date(), signal }))
        return run.completedAt;
      // @ts-expect-error not a status
      const filter: RunFilter = { status: 'done' };
      expectTypeOf(await client.handle('id').status({ signal })).toEqualTypeOf<StatusRecord>();
      // @ts-expect-error a step or the start, not both
      await client.handle('id').reset({ stepName: 'charge', toStart: true });
      // @ts-expect-error the start is there once
      await client.handle('id').reset({ toStart: true, occurrence: 2 });
      // @ts-expect-error a step or the start
      await client.handle('id').reset({ reason: 'because' });
      return filter;
    });
  });

  test('the keys of attributes are those of the wire', () => {
    const key = <N extends EventTypeName>(name: N, attributes: AttributesKey<N>) => [name, attributes];
    // The compiler holds each against the type, the test against what is sent.
    const some = [
      key('TIMER_FIRED', 'timerFiredEventAttributes'),
      key('WORKFLOW_EXECUTION_CONTINUED_AS_NEW', 'workflowExecutionContinuedAsNewEventAttributes'),
      key(
        'REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED',
        'requestCancelExternalWorkflowExecutionInitiatedEventAttributes',
      ),
      key('UNSPECIFIED', 'unspecifiedEventAttributes'),
    ];
    for (const [name, attributes] of some) expect(ATTRIBUTES_KEYS[name as EventTypeName]).toBe(attributes);
    // The rule of the type, applied to all.
    for (const name of Object.keys(EVENT_TYPES) as EventTypeName[]) {
      const [head, ...tail] = name.toLowerCase().split('_') as [string, ...string[]];
      const camel = head + tail.map((word) => word[0]!.toUpperCase() + word.slice(1)).join('');
      expect(ATTRIBUTES_KEYS[name]).toBe(`${camel}EventAttributes`);
    }
  });
});
