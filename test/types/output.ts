/** What authors of Output projects write, with the import changed, as the type checker sees it. Never run. */
import {
  continueAsNew,
  defineSignal,
  EvaluationBooleanResult,
  EvaluationFeedback,
  EvaluationNumberResult,
  EvaluationResult,
  EvaluationStringResult,
  EvaluationVerdictResult,
  evaluator,
  executeInParallel,
  type HttpMethod,
  type HttpRequest,
  hasErrorType,
  Logger,
  type ParallelJobResult,
  type SerializedFetchResponse,
  type StepOptions,
  sendHttpRequest,
  sendPostRequestAndAwaitWebhook,
  setHandler,
  step,
  TransparentFatalError,
  type WorkflowOptions,
  workflow,
  z,
} from 'perdure/output';

type Same<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : { is: A; not: B };
/** Compiles when both are the same type. */
function same<A, B>(..._: Same<A, B> extends true ? [] : [mismatch: Same<A, B>]): void {}
type InputOf<F extends (...args: never[]) => unknown> = Parameters<F>[0];
type OutputOf<F extends (...args: never[]) => unknown> = Awaited<ReturnType<F>>;

const State = z.enum(['open', 'closed']);

// ---- evaluators: what they judge by keeps its exact type

const verdict = evaluator({
  name: 'verdict',
  description: 'Judges',
  inputSchema: z.object({ text: z.string(), limit: z.number().default(10) }),
  fn: async ({ text, limit }) => {
    same<typeof limit, number>();
    return new EvaluationVerdictResult({
      value: text.length > limit ? 'fail' : 'pass',
      confidence: 0.9,
      reasoning: 'counted',
      feedback: [new EvaluationFeedback({ issue: 'long', priority: 'low' })],
      dimensions: [
        new EvaluationBooleanResult({ name: 'short', value: true, confidence: 1 }),
        new EvaluationNumberResult({ name: 'length', value: text.length, confidence: 1 }),
        new EvaluationStringResult({ name: 'text', value: text, confidence: 1 }),
      ],
    });
  },
});
same<InputOf<typeof verdict>, { text: string; limit?: number | undefined }>();
same<OutputOf<typeof verdict>['value'], 'pass' | 'partial' | 'fail'>();
same<
  OutputOf<typeof verdict>['feedback'][number]['priority'],
  'low' | 'medium' | 'high' | 'critical' | undefined
>();

const either = evaluator({
  name: 'either',
  inputSchema: z.string(),
  fn: async (text) =>
    text === ''
      ? new EvaluationBooleanResult({ value: false, confidence: 1 })
      : new EvaluationBooleanResult({ value: true, confidence: 0.5 }),
});
same<OutputOf<typeof either>['value'], boolean>();
const own = evaluator({
  name: 'own',
  fn: async (input: { id: string }) => new EvaluationResult({ value: { id: input.id }, confidence: 1 }),
});
same<OutputOf<typeof own>['value'], { id: string }>();
same<InputOf<typeof own>, { id: string }>();
// @ts-expect-error no verdict
new EvaluationVerdictResult({ value: 'perhaps', confidence: 1 });
// @ts-expect-error how sure it is has to be said
new EvaluationBooleanResult({ value: true });
// @ts-expect-error no evaluation
evaluator({ name: 'e', inputSchema: z.string(), fn: async (text) => text });
// @ts-expect-error not a priority
new EvaluationFeedback({ issue: 'x', priority: 'urgent' });

// ---- steps and workflows: options, literals, inputs

const options: StepOptions = {
  activityOptions: { startToCloseTimeout: '1m', retry: { maximumAttempts: 2 } },
};
const charge = step({
  name: 'charge',
  inputSchema: z.object({ cents: z.number() }),
  outputSchema: State,
  options,
  fn: async ({ cents }) => (cents > 0 ? 'closed' : 'open'),
});
same<OutputOf<typeof charge>, 'open' | 'closed'>();
step({ name: 's', outputSchema: State, fn: async () => 'open' });
step({ name: 's', outputSchema: z.object({ state: State }), fn: async () => ({ state: 'open' }) });
step({ name: 's', options: { startToCloseTimeout: '5s' }, fn: async () => {} });
step({
  name: 's',
  // @ts-expect-error no option of a step
  options: { activityOptions: { startToCloseTimeOut: '1m' } },
  fn: async () => {},
});
// @ts-expect-error not one of the enum
step({ name: 's', outputSchema: State, fn: async () => 'ajar' });

const workflowOptions: WorkflowOptions = {
  activityOptions: { retry: { maximumAttempts: 1 } },
  disableTrace: true,
};
const order = workflow({
  name: 'order',
  description: 'Charges',
  inputSchema: z.object({ cents: z.number(), rounds: z.number().default(0) }),
  outputSchema: z.object({ state: State, judged: z.enum(['pass', 'partial', 'fail']) }),
  options: workflowOptions,
  signals: { approve: { inputSchema: z.object({ by: z.string() }) } },
  fn: async ({ cents, rounds }, context) => {
    same<typeof rounds, number>();
    setHandler(defineSignal<[{ by: string }]>('approve'), ({ by }) => Logger.info('approved', { by }));
    if (rounds > 3) await continueAsNew({ cents, rounds: 0 });
    if (rounds > 2) return continueAsNew({ cents });
    if (rounds > 1) return context.control.continueAsNew({ cents });
    const { value } = await verdict({ text: context.info.workflowId });
    return { state: await charge({ cents }), judged: value };
  },
});
same<InputOf<typeof order>, { cents: number; rounds?: number | undefined }>();
same<OutputOf<typeof order>, { state: 'open' | 'closed'; judged: 'pass' | 'partial' | 'fail' }>();
// What is declared is known where the message is defined.
const approve = defineSignal(order, 'approve');
setHandler(approve, ({ by }) => by.toUpperCase());
// @ts-expect-error nobody has declared it
defineSignal(order, 'refuse');

const again = workflow({
  name: 'again',
  inputSchema: z.number(),
  fn: async (left, context) => (left > 0 ? context.control.continueAsNew(left - 1) : 'done'),
});
same<OutputOf<typeof again>, string>();
const parent = workflow({
  name: 'parent',
  outputSchema: State,
  fn: async () => {
    const { state } = await order({ cents: 1 }, { detached: false });
    return state;
  },
});
same<OutputOf<typeof parent>, 'open' | 'closed'>();
workflow({ name: 'w', outputSchema: State, fn: async () => 'open' });
workflow({ name: 'w', fn: async (input: { id: string }) => input.id });
// @ts-expect-error not one of the enum
workflow({ name: 'w', outputSchema: State, fn: async () => 'ajar' });
// @ts-expect-error no option of a workflow
workflow({ name: 'w', options: { activityOption: {} }, fn: async () => 1 });

// ---- the others of its names

Logger.warn('message', { any: 1 });
Logger.createLogger('billing').silly('message');
// @ts-expect-error a message has to be there
Logger.info();

class CardDeclined extends Error {
  constructor(readonly code: number) {
    super('declined');
  }
}
export function reason(error: unknown): string {
  same<ReturnType<typeof hasErrorType>, boolean>();
  if (hasErrorType(error, CardDeclined)) return 'declined';
  throw new TransparentFatalError(new CardDeclined(3));
}
// @ts-expect-error no class
hasErrorType(new Error(''), 'CardDeclined');

const method: HttpMethod = 'PATCH';
const request: HttpRequest = {
  url: 'https://a.test',
  method,
  headers: { authorization: 'Bearer $TOKEN' },
  responseOptions: { includeHeaders: true, includeBody: true },
};
export async function calls(): Promise<unknown> {
  const answer = await sendHttpRequest(request);
  same<typeof answer, SerializedFetchResponse>();
  same<typeof answer.status, number>();
  same<typeof answer.headers, Record<string, string>>();
  answer.body.anything.goes;
  // @ts-expect-error the form of perdure's own
  await sendHttpRequest({ url: 'https://a.test', responseOptions: { body: 'json' } });
  const results = await executeInParallel({
    jobs: [() => charge({ cents: 1 }), () => charge({ cents: 2 })],
    concurrency: 2,
    onJobCompleted: (result: ParallelJobResult<'open' | 'closed'>) => Logger.debug(String(result.ok)),
  });
  for (const result of results) if (result.ok) same<typeof result.result, 'open' | 'closed'>();
  const payload = await sendPostRequestAndAwaitWebhook({ url: 'https://a.test', payload: { a: 1 } });
  same<typeof payload, unknown>();
  return payload;
}
