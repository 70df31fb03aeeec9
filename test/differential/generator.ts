/**
 * Programs out of random numbers. Small ones: a handful of statements, two or three levels deep, so that each takes
 * well under a second of work and a failing one is still readable before it is shrunk.
 *
 * The rules that keep time from deciding anything (program.ts) are kept here, by construction, so that a shrunk program
 * keeps them too.
 */
import fc from 'fast-check';
import { error, payingStep, quickStep, slowStep, spends, value } from './ingredients.js';
import {
  type Action,
  type ActionAnywhere,
  type Block,
  blockOf,
  type Program,
  type ProgramBudget,
  type Statement,
} from './program.js';

const shortWait: fc.Arbitrary<Statement> = fc.constantFrom<Statement>(
  { op: 'sleep', long: false },
  { op: 'wait', timeout: 'short' },
);

const hold: fc.Arbitrary<Statement> = fc
  .tuple(fc.constantFrom('try' as const, 'wait' as const, 'abandon' as const), spends)
  .map(([cancellation, spent]) => ({ op: 'hold', cancellation, ...spent }));

const quietHang: fc.Arbitrary<Statement> = fc.constantFrom<Statement>(
  { op: 'sleep', long: true },
  { op: 'never' },
);

const looseHang: fc.Arbitrary<Statement> = fc.oneof(
  quietHang,
  fc
    .constantFrom('try' as const, 'abandon' as const)
    .map((cancellation) => ({ op: 'hold', cancellation }) as const),
);

const wait: fc.Arbitrary<Statement> = fc
  .constantFrom('none' as const, 'long' as const)
  .map((timeout) => ({ op: 'wait', timeout }));

const callback: fc.Arbitrary<Statement> = fc.boolean().map((checked) => ({ op: 'callback', checked }));

const external: fc.Arbitrary<Statement> = fc.constantFrom<Statement>(
  { op: 'external', target: 'nobody', act: 'signal' },
  { op: 'external', target: 'nobody', act: 'cancel' },
  { op: 'external', target: 'self', act: 'signal' },
  { op: 'external', target: 'self', act: 'cancel' },
  { op: 'external', target: 'parent', act: 'signal' },
);

const throwing: fc.Arbitrary<Statement> = fc
  .record({ error, untilAttempt: fc.constantFrom(undefined, undefined, 2, 3) })
  .map((each) => ({ op: 'throw', ...each }));

const small: fc.Arbitrary<Statement> = fc.oneof(
  { weight: 12, arbitrary: quickStep },
  { weight: 4, arbitrary: shortWait },
  { weight: 5, arbitrary: wait },
  { weight: 5, arbitrary: hold },
  { weight: 1, arbitrary: quietHang },
  { weight: 3, arbitrary: callback },
  { weight: 1, arbitrary: slowStep },
  { weight: 1, arbitrary: external },
  { weight: 1, arbitrary: throwing },
  {
    weight: 1,
    arbitrary: fc.boolean().map((deprecated) => ({ op: 'patch', deprecated }) as Statement),
  },
  { weight: 1, arbitrary: fc.constant<Statement>({ op: 'random' }) },
);

/** Goes on after it, however it ends. */
const safe = (body: Block): Statement => ({ op: 'try', body, caught: [], shielded: false });

const block = (statement: fc.Arbitrary<Statement>, maxLength: number, minLength = 0): fc.Arbitrary<Block> =>
  fc.array(statement, { minLength, maxLength, size: 'max' });

/** Ends the workflow, so it stands last. */
const ending = (inner: fc.Arbitrary<Block>): fc.Arbitrary<Statement> =>
  fc.oneof(
    { weight: 3, arbitrary: value.map((each) => ({ op: 'return', value: each }) as Statement) },
    { weight: 2, arbitrary: throwing },
    { weight: 2, arbitrary: inner.map((body) => ({ op: 'continue', body }) as Statement) },
    {
      weight: 1,
      arbitrary: fc
        .record({ detached: fc.boolean(), body: inner })
        .map((each) => ({ op: 'leave', ...each }) as Statement),
    },
  );

const ended = (body: fc.Arbitrary<Block>, inner: fc.Arbitrary<Block>): fc.Arbitrary<Block> =>
  fc
    .tuple(body, fc.option(ending(inner), { nil: undefined }))
    .map(([first, last]) => (last ? [...first, last] : first));

/** What waits and asks for nothing else: a timeout of milliseconds always ends it in the same state. */
const quiet: fc.Arbitrary<Block> = fc.oneof(
  quietHang.map((each) => [each]),
  fc
    .array(
      quietHang.map((each) => [each]),
      { minLength: 1, maxLength: 3 },
    )
    .map((branches) => [{ op: 'gather', how: 'settled', concurrency: 9, branches }] as Block),
);

/** `body` is what may stand inside; `whole` what may be a workflow of its own. */
function large(body: fc.Arbitrary<Block>, whole: fc.Arbitrary<Block>): fc.Arbitrary<Statement> {
  const branches = fc.array(body, { minLength: 1, maxLength: 3 });
  return fc.oneof(
    {
      weight: 4,
      arbitrary: fc
        .record({
          how: fc.constantFrom('settled', 'jobs'),
          concurrency: fc.integer({ min: 1, max: 3 }),
          branches,
        })
        .map((each) => ({ op: 'gather', ...each }) as Statement),
    },
    {
      weight: 2,
      arbitrary: fc
        .record({
          how: fc.constantFrom('all', 'race'),
          decider: body,
          others: fc.array(
            looseHang.map((each) => [each]),
            { minLength: 1, maxLength: 2 },
          ),
        })
        .map((each) => ({ op: 'decide', led: false, ...each }) as Statement),
    },
    {
      weight: 3,
      arbitrary: fc
        .record({
          how: fc.constantFrom('all', 'race'),
          decider: body,
          others: fc.array(
            fc
              .tuple(block(fc.oneof(quickStep, shortWait), 2), loose(body))
              .map(([first, last]) => [safe(first), last]),
            { minLength: 1, maxLength: 2 },
          ),
        })
        .map((each) => ({ op: 'decide', led: true, ...each }) as Statement),
    },
    {
      weight: 2,
      arbitrary: fc
        .record({ shielded: fc.boolean(), cancel: fc.constantFrom('never', 'atOnce', 'led'), body })
        .map((each) => ({ op: 'scope', ...each }) as Statement),
    },
    // Something is under way in it when it is cancelled.
    {
      weight: 4,
      arbitrary: fc
        .tuple(body, fc.oneof(hold, quietHang))
        .map(
          ([first, last]) =>
            ({ op: 'scope', shielded: false, cancel: 'led', body: [safe(first), last] }) as Statement,
        ),
    },
    { weight: 1, arbitrary: quiet.map((each) => ({ op: 'limit', long: false, body: each }) as Statement) },
    { weight: 1, arbitrary: body.map((each) => ({ op: 'limit', long: true, body: each }) as Statement) },
    {
      weight: 4,
      arbitrary: fc
        .record(
          { body, caught: body, cleanup: body, shielded: fc.boolean() },
          { requiredKeys: ['body', 'shielded'] },
        )
        .map((each) => ({ op: 'try', ...each }) as Statement),
    },
    {
      weight: 5,
      arbitrary: fc
        .record({
          workflow: fc.constantFrom('program', 'program', 'program', 'retried', 'timed'),
          id: fc.constantFrom('generated', 'generated', 'given', 'taken', 'twice'),
          detached: fc.constantFrom(false, false, true),
          body: whole,
        })
        .map((each) => ({ op: 'child', ...each }) as Statement),
    },
    {
      weight: 2,
      arbitrary: fc
        .record({ sends: fc.constantFrom('signal', 'cancel', 'nothing'), body: whole })
        .map((each) => ({ op: 'partner', ...each }) as Statement),
    },
  );
}

/** Something that waits for ever once its family is at rest: a hang, or a child whose last statement is one. */
const loose = (inside: fc.Arbitrary<Block>): fc.Arbitrary<Statement> =>
  fc.oneof(
    { weight: 3, arbitrary: looseHang },
    {
      weight: 1,
      arbitrary: fc.record({ detached: fc.boolean(), body: inside }).map(
        ({ detached, body }) =>
          ({
            op: 'child',
            workflow: 'program',
            // An id of its own in every attempt of its workflow: one that is taken would not wait, but fail.
            id: 'generated',
            detached,
            body: [safe(body), { op: 'never' }],
          }) as Statement,
      ),
    },
  );

const inner1 = block(small, 2);
const whole1 = ended(inner1, block(small, 1));
const inner2 = block(
  fc.oneof({ weight: 3, arbitrary: small }, { weight: 2, arbitrary: large(inner1, whole1) }),
  3,
);
const whole2 = ended(inner2, whole1);
const statement = fc.oneof({ weight: 3, arbitrary: small }, { weight: 3, arbitrary: large(inner2, whole2) });
/** Most statements are survived by their program, so that there is more to come. */
const survived = fc
  .tuple(statement, fc.integer({ min: 0, max: 9 }))
  .map(([each, luck]) => (luck < 6 ? safe([each]) : each));
const body = ended(block(survived, 4, 1), whole2);

const action: fc.Arbitrary<Action> = fc
  .tuple(
    fc.constantFrom(0, 0, 0, 1, 2),
    fc.oneof(
      { weight: 6, arbitrary: fc.constant({ do: 'go' }) },
      { weight: 2, arbitrary: inner1.map((each) => ({ do: 'signal', body: each })) },
      { weight: 4, arbitrary: whole1.map((each) => ({ do: 'update', body: each })) },
      { weight: 1, arbitrary: error.map((refuse) => ({ do: 'update', refuse, body: [] })) },
      { weight: 1, arbitrary: fc.constant({ do: 'unknownUpdate' }) },
      {
        weight: 3,
        arbitrary: fc.record({
          do: fc.constant('callback'),
          which: fc.nat({ max: 3 }),
          posts: fc.constantFrom('fitting', 'fitting', 'odd', 'nothing'),
        }),
      },
      {
        weight: 2,
        arbitrary: fc.constantFrom('state', 'throw', 'act', 'unknown').map((how) => ({ do: 'query', how })),
      },
      {
        weight: 3,
        arbitrary: fc.constantFrom('return', 'throw').map((how) => ({ do: 'release', how })),
      },
      {
        weight: 3,
        arbitrary: fc
          .constantFrom('nothing', 'go', 'go', 'release', 'release', 'query', 'cancel')
          .map((meanwhile) => ({ do: 'pause', meanwhile })),
      },
      { weight: 3, arbitrary: fc.constant({ do: 'cancel' }) },
      { weight: 1, arbitrary: fc.constant({ do: 'terminate' }) },
    ),
  )
  .map(([at, each]) => ({ at, ...each }) as Action);

const budget: fc.Arbitrary<ProgramBudget> = fc.record(
  {
    // Sums of what steps spend among them, so that some are met to the last unit.
    amount: fc.constantFrom(
      '0',
      '0.000000001',
      '0.1',
      '0.2',
      '0.3',
      '0.6',
      '3',
      '3.3',
      '123456789.123456789',
    ),
    currency: fc.constantFrom('USD', 'USD', 'USD', 'EUR', 'XTK'),
    raises: fc.array(fc.constantFrom('toSpent', 'byLastUnit', 'byLastUnit', 'enough'), { maxLength: 4 }),
    meanwhile: fc
      .tuple(
        fc.constantFrom(0, 0, 1, 2),
        fc.constantFrom<ActionAnywhere>(
          { do: 'cancel' },
          { do: 'cancel' },
          { do: 'terminate' },
          { do: 'reset' },
          { do: 'reset' },
          { do: 'go' },
          { do: 'query', how: 'state' },
          { do: 'pause', meanwhile: 'nothing' },
          { do: 'pause', meanwhile: 'raise' },
        ),
      )
      .map(([at, each]) => ({ at, ...each })),
  },
  { requiredKeys: ['amount', 'currency', 'raises'] },
);

export const programsWithoutBudgets: fc.Arbitrary<Program> = fc.record({
  workflow: fc.constantFrom('program' as const, 'program' as const, 'program' as const, 'retried' as const),
  body,
  script: fc.array(action, { maxLength: 6, size: 'max' }),
});

/** Most of what it does costs something. Unless it gathers, one thing follows the other. */
const spender = (inner: fc.Arbitrary<Block>, whole: fc.Arbitrary<Block>): fc.Arbitrary<Statement> =>
  fc.oneof(
    { weight: 6, arbitrary: payingStep },
    { weight: 1, arbitrary: fc.oneof(shortWait, throwing, slowStep, wait) },
    {
      weight: 2,
      arbitrary: fc
        .record(
          { body: inner, caught: inner, cleanup: inner, shielded: fc.boolean() },
          { requiredKeys: ['body', 'shielded'] },
        )
        .map((each) => ({ op: 'try', ...each }) as Statement),
    },
    {
      weight: 1,
      arbitrary: fc
        .record({ shielded: fc.boolean(), body: inner })
        .map((each) => ({ op: 'scope', cancel: 'never', ...each }) as Statement),
    },
    {
      weight: 2,
      arbitrary: fc
        .record({
          workflow: fc.constantFrom('program', 'program', 'retried'),
          id: fc.constantFrom('generated', 'given', 'twice'),
          detached: fc.boolean(),
          body: whole,
        })
        .map((each) => ({ op: 'child', ...each }) as Statement),
    },
    {
      weight: 1,
      arbitrary: fc
        .array(inner, { minLength: 2, maxLength: 3 })
        .map((branches) => ({ op: 'gather', how: 'settled', concurrency: 9, branches }) as Statement),
    },
  );

const paying1 = block(payingStep, 2, 1);
const paying2 = block(spender(paying1, ended(paying1, paying1)), 2, 1);
const paying = ended(
  block(spender(paying2, ended(paying2, paying1)), 4, 2).map((each) => each.map((one) => safe([one]))),
  paying2,
);

/** A third of them have a budget, and most of those spend it. */
export const programs: fc.Arbitrary<Program> = fc
  .tuple(
    programsWithoutBudgets,
    fc.constantFrom('as it is', 'as it is', 'with a budget'),
    budget,
    paying,
    fc.nat(3),
  )
  .map(([program, kind, budget, body, actions]) => {
    if (kind === 'as it is') return program;
    const script = program.script.filter((each) => blockOf(each).length === 0).slice(0, actions);
    return actions === 3 ? { ...program, budget } : { ...program, body, script, budget };
  });

/** One seed, one program. Without the bias towards small values that is meant for thousands of runs of one seed. */
export const ofSeed = (seed: number) => ({ seed, numRuns: 1, unbiased: true }) as const;

export const programOf = (seed: number, of: fc.Arbitrary<Program>): Program =>
  fc.sample(of, ofSeed(seed))[0]!;
