import { CancellationScope, condition, defineSignal, setHandler, workflow } from 'perdure';
import { described, settled } from '../shared/described.js';
import type { Place } from '../shared/ledger.js';
import {
  flaky,
  flakyBackoff,
  flakyByDefault,
  flakyByWorkflow,
  flakyListed,
  flakyOnce,
} from '../shared/steps/failing.js';
import {
  gatedAbandon,
  gatedTryCancel,
  gatedWaitCancelled,
  note,
  stubborn,
  sulking,
} from '../shared/steps/recording.js';
import {
  beating,
  deaf,
  leavingOff,
  shortAttempt,
  shortBackoff,
  shortQueue,
  shortWhole,
  silent,
} from '../shared/steps/timing.js';
import { makeLarge, misfit, parsed, strangeValue, whoAmI } from '../shared/steps/values.js';

const flakySteps = { flaky, flakyBackoff, flakyByDefault, flakyListed, flakyOnce };
type ErrorKind = Parameters<typeof flaky>[0]['error'];

interface FlakyCall extends Place {
  step: keyof typeof flakySteps;
  failures: number;
  error?: ErrorKind;
}

/** Gives what the failing step gave, error or value. */
export const callFlaky = workflow({
  name: 'callFlaky',
  fn: async (input) => {
    const { step, ...rest } = input as FlakyCall;
    return settled(flakySteps[step](rest));
  },
});

/** Lets the step's error out. */
export const passFlaky = workflow({
  name: 'passFlaky',
  fn: async (input) => {
    const { step, ...rest } = input as FlakyCall;
    return flakySteps[step](rest);
  },
});

export const stepOptionsOfWorkflow = workflow({
  name: 'stepOptionsOfWorkflow',
  options: { stepOptions: { retry: { initialInterval: '10ms', maximumAttempts: 5 } } },
  fn: async (input) => settled(flakyByWorkflow({ ...(input as Place), failures: 4 })),
});

const timedSteps = { shortAttempt, shortWhole, silent };

export const callTimed = workflow({
  name: 'callTimed',
  fn: async (input) => {
    const { step, hangs, ...place } = input as Place & { step: keyof typeof timedSteps; hangs: number };
    return settled<unknown>(timedSteps[step]({ ...place, hangs }));
  },
});

const placedSteps = { shortBackoff, shortQueue, beating, leavingOff, deaf };

export const callPlaced = workflow({
  name: 'callPlaced',
  fn: async (input) => {
    const { step, ...place } = input as Place & { step: keyof typeof placedSteps };
    return settled<unknown>(placedSteps[step](place));
  },
});

export const callStrange = workflow({
  name: 'callStrange',
  fn: async (kind) => settled(strangeValue({ kind: kind as string })),
});

export const sendStrange = workflow({
  name: 'sendStrange',
  fn: async () => settled(note({ ledger: '', key: '', value: { big: [10n] } })),
});

export const callValues = workflow({
  name: 'callValues',
  fn: async () => ({
    first: await whoAmI(),
    second: await whoAmI(),
    parsed: await parsed({ count: '21' }),
    invalidInput: await settled(parsed({ count: 'x' })),
    invalidOutput: await settled(misfit({ count: 1 })),
  }),
});

/** Many at once; the results come back in the order of the calls. */
export const parallelSteps = workflow({
  name: 'parallelSteps',
  fn: async (input) => {
    const { count, ...place } = input as Place & { count: number };
    return Promise.all(Array.from({ length: count }, (_, value) => note({ ...place, value })));
  },
});

export const serialSteps = workflow({
  name: 'serialSteps',
  fn: async (input) => {
    const { count, ...place } = input as Place & { count: number };
    let sum = 0;
    for (let value = 1; value <= count; value++) sum += Number(await note({ ...place, value }));
    return sum;
  },
});

export const racingSteps = workflow({
  name: 'racingSteps',
  fn: async (input) => {
    const place = input as Place;
    const slow = gatedAbandon({ ...place, gate: place.key });
    const first = await Promise.race([slow, note({ ...place, value: 'fast' })]);
    return [first, await slow];
  },
});

const cancelSignal = defineSignal('cancelStep');
const gatedSteps = { gatedTryCancel, gatedWaitCancelled, gatedAbandon, stubborn, sulking };

/** Cancels the scope of one step when told so, and says what the step gave. */
export const cancelOneStep = workflow({
  name: 'cancelOneStep',
  fn: async (input) => {
    const { step, before, ...place } = input as Place & { step: keyof typeof gatedSteps; before?: boolean };
    let asked = before === true;
    setHandler(cancelSignal, () => {
      asked = true;
    });
    const scope = new CancellationScope();
    const outcome = scope.run(() => settled(gatedSteps[step]({ ...place, gate: place.key })));
    await condition(() => asked);
    scope.cancel();
    return outcome;
  },
});

/** The cancelled step's error goes out: the workflow itself was not cancelled, so it fails. */
export const stepCancelEscapes = workflow({
  name: 'stepCancelEscapes',
  fn: async (input) => {
    const place = input as Place;
    const scope = new CancellationScope();
    const outcome = scope.run(() => gatedTryCancel({ ...place, gate: place.key }));
    scope.cancel();
    try {
      return await outcome;
    } catch (error) {
      return { caught: described(error).name };
    }
  },
});

export const makesLarge = workflow({
  name: 'makesLarge',
  fn: async (input) => {
    const { bytes, by } = input as { bytes: number; by: 'workflow' | 'step' };
    return by === 'step' ? (await makeLarge({ bytes })).length : 'x'.repeat(bytes);
  },
});
