/** What programs are made of: values, errors, and steps that do something with them. */
import fc from 'fast-check';
import type { ErrorSpec, Spending, Statement, StepBehaviour, StepName, Value } from './program.js';

const text = fc.constantFrom('', 'a', 'no', 'naïve \u2028 😀 "quoted" \\');

const json: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(0, 1, -0.5, 1e21, true, false, null, {}, []),
  text,
  fc.record({ a: fc.array(fc.oneof(fc.integer(), text), { maxLength: 2 }), ü: fc.constant({ deep: [{}] }) }),
);

export const value: fc.Arbitrary<Value> = fc.oneof(
  { weight: 12, arbitrary: json.map((each) => ({ json: each })) },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom('undefined', 'nan', 'bigint', 'date', 'map', 'hole', 'property')
      .map((odd) => ({ odd }) as Value),
  },
);

const leafError: fc.Arbitrary<ErrorSpec> = fc.record(
  {
    as: fc.constantFrom<ErrorSpec['as']>(
      'Error',
      'TypeError',
      'ListedError',
      'QuietError',
      'FatalError',
      'RetryAfterError',
      'ValidationError',
      'CancelledError',
      'object',
      'string',
    ),
    message: text,
    properties: fc.constantFrom<Record<string, unknown>>(
      { code: 'E_SEVEN' },
      { code: 7, nested: { list: [null] } },
    ),
  },
  { requiredKeys: ['as', 'message'] },
);

export const error: fc.Arbitrary<ErrorSpec> = fc
  .tuple(leafError, fc.option(leafError, { nil: undefined, freq: 3 }))
  .map(([outer, cause]) => (cause ? { ...outer, cause } : outer));

const spending: fc.Arbitrary<Spending> = fc.record(
  {
    // Such that a sum of floats would not be exact.
    amount: fc.constantFrom<number | string>(0, 0.1, 0.2, 3, '0.30', '0.000000001', '123456789.123456789'),
    currency: fc.constantFrom('USD', 'EUR'),
    kind: fc.constantFrom('llm', 'http'),
    label: text,
    usage: fc.constantFrom<Record<string, number>>({ tokens: 3 }, { tokens: 0.1, calls: 1 }),
  },
  { requiredKeys: ['amount'] },
);

/** Half of the steps spend nothing. */
export const spends: fc.Arbitrary<{ spends?: Spending[] }> = fc
  .option(fc.array(spending, { minLength: 1, maxLength: 3 }), { nil: undefined, freq: 2 })
  .map((each) => (each ? { spends: each } : {}));

const failing = (min: number, max: number): fc.Arbitrary<StepBehaviour> =>
  fc.record({ kind: fc.constant('fail' as const), times: fc.integer({ min, max }), error });
const returning: fc.Arbitrary<StepBehaviour> = value.map((each) => ({ kind: 'return', value: each }));
const stepOf = (step: fc.Arbitrary<StepName>, does: fc.Arbitrary<StepBehaviour>): fc.Arbitrary<Statement> =>
  fc.record({ step, does, spent: spends }).map(({ spent, ...each }) => ({ op: 'step', ...each, ...spent }));

export const quickStep: fc.Arbitrary<Statement> = fc.oneof(
  { weight: 10, arbitrary: stepOf(fc.constant('act'), returning) },
  // Tried again in vain or with success; some errors are never retried.
  { weight: 3, arbitrary: stepOf(fc.constantFrom('act', 'actListed', 'strict'), failing(1, 2)) },
  { weight: 2, arbitrary: stepOf(fc.constantFrom('act', 'actOnce', 'actLater', 'strict'), failing(1, 3)) },
  { weight: 1, arbitrary: stepOf(fc.constant('strict'), returning) },
  { weight: 1, arbitrary: fc.constant<Statement>({ op: 'step', step: 'act', does: { kind: 'beat' } }) },
);

const payment: fc.Arbitrary<Spending[]> = fc.array(
  fc.record({ amount: fc.constantFrom(0.1, '0.20', 3, '0.000000001') }),
  { minLength: 1, maxLength: 2 },
);

/** As any other, and it spends what budgets count. */
export const payingStep: fc.Arbitrary<Statement> = fc
  .tuple(quickStep, payment)
  .map(([step, spends]) => ({ ...step, spends }) as Statement);

/** Waits out a timeout, so it takes its time. */
export const slowStep: fc.Arbitrary<Statement> = fc
  .record({ step: fc.constantFrom('slow', 'silent'), times: fc.integer({ min: 1, max: 2 }), spent: spends })
  .map(
    ({ step, times, spent }) => ({ op: 'step', step, does: { kind: 'hang', times }, ...spent }) as Statement,
  );
