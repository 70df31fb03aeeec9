/** What authors write, as the type checker sees it. Compiled against the published types by several compilers; never run. */
import {
  defineQuery,
  defineSignal,
  defineUpdate,
  executeInParallel,
  getExternalWorkflowHandle,
  type JobResult,
  RetryAfterError,
  type Step,
  type StepContext,
  setHandler,
  step,
  stepContext,
  type Workflow,
  workflow,
  z,
} from 'perdure';

type Same<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : { is: A; not: B };
/** Compiles when both are the same type. */
function same<A, B>(..._: Same<A, B> extends true ? [] : [mismatch: Same<A, B>]): void {}
type InputOf<F extends (...args: never[]) => unknown> = Parameters<F>[0];
type OutputOf<F extends (...args: never[]) => unknown> = Awaited<ReturnType<F>>;

const State = z.enum(['open', 'closed']);
const Report = z.object({
  state: State,
  pair: z.tuple([z.string(), z.number()]),
  three: z.literal(3),
  items: z.array(z.object({ id: z.string(), tags: z.array(z.string()) })),
});
const Outcome = z.discriminatedUnion('type', [
  z.object({ type: z.literal('ok'), value: z.number() }),
  z.object({ type: z.literal('no'), reason: z.string() }),
]);
const someReport = { state: 'open', pair: ['a', 1], three: 3, items: [{ id: 'a', tags: [] }] } as const;

// ---- what a workflow returns keeps its literals, with and without parameters, async and not

const plainEnum = workflow({ name: 'w', outputSchema: State, fn: () => 'open' });
same<OutputOf<typeof plainEnum>, 'open' | 'closed'>();
workflow({ name: 'w', outputSchema: State, fn: async () => 'open' });
workflow({ name: 'w', outputSchema: State, fn: async (id: string) => (id === '' ? 'open' : 'closed') });
workflow({
  name: 'w',
  outputSchema: State,
  async fn() {
    return 'open';
  },
});
workflow({ name: 'w', outputSchema: State, fn: async () => 'open' });
workflow({
  name: 'w',
  inputSchema: z.string(),
  outputSchema: State,
  fn: async (id) => {
    id.length;
    return 'open';
  },
});
workflow({
  name: 'w',
  inputSchema: z.string(),
  outputSchema: State,
  fn: (id) => (id === '' ? 'open' : 'closed'),
});
workflow({ fn: async () => 'open', outputSchema: State, name: 'schemaLast' });
workflow({ name: 'w', outputSchema: z.literal(true), fn: async () => true });
workflow({ name: 'w', outputSchema: z.literal(3), fn: () => 3 });
workflow({ name: 'w', outputSchema: z.array(State), fn: async () => ['open'] });
workflow({ name: 'w', outputSchema: z.record(z.string(), State), fn: async () => ({ a: 'open' }) });
workflow({ name: 'w', outputSchema: z.union([z.string(), z.null()]), fn: async () => null });
workflow({ name: 'w', outputSchema: z.void(), fn: async () => {} });
workflow({ name: 'w', outputSchema: z.unknown(), fn: async () => ({ a: 'x' }) });
workflow({ name: 'w', outputSchema: z.any(), fn: async () => ({ a: 'x' }) });
workflow({ name: 'w', outputSchema: z.date(), fn: async () => new Date() });
workflow({ name: 'w', outputSchema: z.string().brand<'Id'>(), fn: async () => 'x' });
workflow({
  name: 'w',
  outputSchema: State,
  fn: async () => {
    throw new Error('always');
  },
});
workflow({
  name: 'w',
  outputSchema: Outcome,
  fn: async (n: number) => {
    if (n > 1) return { type: 'ok', value: n };
    return { type: 'no', reason: 'too small' };
  },
});
const report = workflow({
  name: 'report',
  inputSchema: z.object({ id: z.string(), limit: z.number().default(10) }),
  outputSchema: Report.extend({ note: z.string().default('none') }),
  fn: async ({ id, limit }, context) => {
    same<typeof limit, number>();
    if (id === '') return context.control.continueAsNew({ id: 'a' });
    return { state: 'open', pair: [id, limit], three: 3, items: [{ id, tags: [] }] };
  },
});
same<InputOf<typeof report>, { id: string; limit?: number | undefined }>();
same<OutputOf<typeof report>['note'], string>();
same<OutputOf<typeof report>['pair'], [string, number]>();
workflow({ name: 'w', outputSchema: Report, fn: () => someReport });

interface Node {
  value: string;
  next?: Node | undefined;
}
const NodeSchema: z.ZodType<Node> = z.object({
  value: z.string(),
  get next() {
    return NodeSchema.optional();
  },
});
workflow({ name: 'w', outputSchema: NodeSchema, fn: async () => ({ value: 'a', next: { value: 'b' } }) });

// @ts-expect-error not one of the enum
workflow({ name: 'w', outputSchema: State, fn: async () => 'ajar' });
// @ts-expect-error not one of the enum
workflow({ name: 'w', outputSchema: State, fn: () => 'ajar' });
// @ts-expect-error not one of the enum, behind a parameter
workflow({
  name: 'w',
  inputSchema: z.string(),
  outputSchema: State,
  fn: async (id) => {
    id.length;
    return 'ajar';
  },
});
// @ts-expect-error the wrong literal deep inside
workflow({ name: 'w', outputSchema: Report, fn: async () => ({ ...someReport, state: 'ajar' }) });
// @ts-expect-error a property is missing
workflow({ name: 'w', outputSchema: Report, fn: async () => ({ state: 'open' }) });
// @ts-expect-error the other half of the union
workflow({ name: 'w', outputSchema: Outcome, fn: async () => ({ type: 'ok', reason: 'x' }) });
// @ts-expect-error fn takes something else than the schema gives
workflow({ name: 'w', inputSchema: z.string(), fn: async (n: number) => n });
// @ts-expect-error no such option
workflow({ name: 'w', activityOptions: {}, fn: async () => 1 });
// @ts-expect-error no such option, beside a schema
workflow({ name: 'w', activityOptions: {}, outputSchema: State, fn: async () => 'open' });

// ---- without a schema the types are those that TypeScript gives any function

const loose = workflow({ name: 'w', fn: async () => ({ text: 'x', list: ['a'], yes: true }) });
same<OutputOf<typeof loose>, { text: string; list: string[]; yes: boolean }>();
const typed = workflow({ name: 'w', fn: async (n: number): Promise<'a' | 'b'> => (n > 1 ? 'a' : 'b') });
same<OutputOf<typeof typed>, 'a' | 'b'>();
same<InputOf<typeof typed>, number>();
const nothing = workflow({ name: 'w', fn: () => {} });
void nothing();
void nothing(undefined, { workflowId: 'x' });
const described = { name: 'w', outputSchema: z.string(), fn: async (n: number) => String(n) };
same<InputOf<ReturnType<typeof useDescribed>>, number>();
function useDescribed() {
  return workflow(described);
}

// ---- steps

const assess = step({
  name: 'assess',
  inputSchema: z.object({ id: z.string(), depth: z.number().default(1) }),
  outputSchema: z.object({ verdict: z.enum(['good', 'bad']), score: z.number() }),
  options: { retry: { maximumAttempts: 1 } },
  fn: async ({ depth }) => ({ verdict: 'good', score: depth }),
});
same<
  typeof assess,
  Step<{ id: string; depth?: number | undefined }, { verdict: 'good' | 'bad'; score: number }>
>();
step({ name: 's', outputSchema: State, fn: async () => 'open' });
step({ name: 's', outputSchema: State, fn: () => 'open' });
const ship = step({ name: 'ship', fn: async (id: string) => ({ tracking: id }) });
same<typeof ship, Step<string, { tracking: string }>>();
same<ReturnType<typeof assess.with>, typeof assess>();
// @ts-expect-error not one of the enum
step({ name: 's', outputSchema: State, fn: async () => 'ajar' });
// @ts-expect-error no such option of a step
step({ name: 's', options: { timeout: '1s' }, fn: async () => 1 });

step({
  name: 'context',
  fn: async () => {
    const { heartbeat, signal, attempt, log, lastHeartbeat, idempotencyKey } = stepContext();
    heartbeat({ attempt, lastHeartbeat });
    log.info('x', { key: idempotencyKey, aborted: signal.aborted });
    throw new RetryAfterError('busy', attempt > 1 ? '30s' : new Date(0));
  },
});

// A property, which may be taken apart: of a method this would be accepted.
// @ts-expect-error it takes details of every kind
export const beat: StepContext['heartbeat'] = (details: string) => void details;
// @ts-expect-error it takes options of every kind
export const narrowed: (typeof ship)['with'] = (options: { startToCloseTimeout: string }) =>
  ship.with(options);

// ---- messages

const status = defineQuery<'open' | 'closed'>('status');
const rename = defineUpdate<'done' | 'refused', [name: string]>('rename');
const detail = defineUpdate<{ state: 'open' | 'closed' }>('detail');
const poke = defineSignal<[{ by: string }]>('poke');

// Schemas make the definition a declaration as well.
const approve = defineSignal('approve', {
  description: 'Go on',
  inputSchema: z.object({
    by: z.string(),
    note: z.string().default(''),
    at: z.iso.datetime().transform((text) => new Date(text)),
  }),
});
const progress = defineQuery('progress', { outputSchema: z.object({ stage: State }) });
const move = defineUpdate('move', { inputSchema: z.object({ to: State }), outputSchema: State });

const order = workflow({
  name: 'order',
  signals: { approve, cancelled: { inputSchema: z.object({ why: z.string().optional() }) } },
  queries: { progress },
  updates: { move },
  outputSchema: State,
  fn: async () => {
    setHandler(status, () => 'open');
    setHandler(status, () => {
      if (Date.now() > 1) return 'open';
      return 'closed';
    });
    setHandler(rename, () => 'done');
    setHandler(rename, async () => 'done');
    setHandler(rename, async (name) => (name.length > 1 ? 'done' : 'refused'), {
      validator: (name) => same<typeof name, string>(),
    });
    setHandler(detail, () => ({ state: 'open' }));
    setHandler(detail, async () => ({ state: 'open' }));
    setHandler(poke, ({ by }) => same<typeof by, string>());
    setHandler(poke, async () => {});
    setHandler(poke, undefined);
    setHandler(approve, ({ by, note, at }) => {
      same<typeof by, string>();
      same<typeof note, string>();
      same<typeof at, Date>();
    });
    setHandler(progress, () => ({ stage: 'open' }));
    setHandler(move, async ({ to }) => to);
    setHandler(move, () => 'open');
    setHandler(cancelled, ({ why }) => same<typeof why, string | undefined>());
    // @ts-expect-error not one of the answers
    setHandler(status, () => 'ajar');
    // @ts-expect-error a query answers at once
    setHandler(status, async () => 'open');
    // @ts-expect-error not one of the answers
    setHandler(rename, async () => 'maybe');
    // @ts-expect-error not one of the answers
    setHandler(detail, () => ({ state: 'ajar' }));
    // @ts-expect-error the payload is something else
    setHandler(poke, ({ by }: { by: number }) => by);
    // @ts-expect-error the schema says something else
    setHandler(approve, ({ at }: { at: string }) => at);
    // @ts-expect-error the schema says something else
    setHandler(progress, () => ({ stage: 'ajar' }));
    // @ts-expect-error only updates can be refused
    setHandler(poke, () => {}, { validator: () => {} });
    return 'open';
  },
});

// A declaration in place is tied to by the workflow itself, also by the code inside it.
const cancelled = defineSignal(order, 'cancelled');
same<InputOf<typeof order>, unknown>();
// @ts-expect-error no such signal is declared
defineSignal(order, 'canceled');
// @ts-expect-error it is a query
defineSignal(order, 'progress');

workflow({
  name: 'other',
  fn: async () => {
    const handle = getExternalWorkflowHandle('order-1');
    const { signal } = handle;
    await signal(approve, { by: 'ada', at: '2026-01-01T00:00:00Z' });
    await signal(cancelled, {});
    await signal('anything', 1, 'two');
    // @ts-expect-error the payload as it is sent, before it is parsed
    await signal(approve, { by: 'ada', at: new Date() });
    // @ts-expect-error by is missing
    await signal(approve, { at: '' });

    const child = await order();
    same<typeof child, 'open' | 'closed'>();
    const verdict = await assess({ id: 'a' });
    same<typeof verdict, { verdict: 'good' | 'bad'; score: number }>();
    await assess.with({ startToCloseTimeout: '5m', retry: { maximumAttempts: 9 } })({ id: 'a' });
    // @ts-expect-error no such option
    assess.with({ timeout: '5m' });

    const results = await executeInParallel({ jobs: ['a', 'b'].map((id) => () => assess({ id })) });
    same<typeof results, JobResult<{ verdict: 'good' | 'bad'; score: number }>[]>();
    const literal = await executeInParallel<'a' | 'b'>({
      jobs: [async () => 'a', () => 'b'],
      concurrency: 2,
    });
    // @ts-expect-error not one of them
    await executeInParallel<'a' | 'b'>({ jobs: [async () => 'c'] });
    return literal.length;
  },
});

// ---- what a client knows of a workflow by its type alone

type Messages<W> = W extends Workflow<never, unknown, infer M> ? M : never;
same<keyof Messages<typeof order>['signals'], 'approve' | 'cancelled'>();
same<keyof Messages<typeof order>['queries'], 'progress'>();
