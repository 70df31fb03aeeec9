import { FatalError, step, stepContext, ValidationError, z } from 'perdure';
import { passGate, place, record } from '../ledger.js';

class DeclinedError extends Error {
  override readonly name = 'DeclinedError';
  constructor(
    message: string,
    readonly code: string,
  ) {
    super(message, { cause: new TypeError('card expired', { cause: new Error('issuer said no') }) });
  }
}

/** The name of an error class alone, without a `name` of its own, is what most people write. */
class QuietError extends Error {}

const flakyInput = place.extend({
  /** Attempts that fail before one succeeds. */
  failures: z.number(),
  error: z
    .enum(['Error', 'DeclinedError', 'QuietError', 'FatalError', 'ValidationError', 'string'])
    .default('Error'),
});

async function failFirst(input: z.infer<typeof flakyInput>): Promise<number> {
  const { attempt } = stepContext();
  await record(input, 'ran');
  if (attempt > input.failures) return attempt;
  const message = `attempt ${attempt} failed`;
  switch (input.error) {
    case 'DeclinedError':
      throw new DeclinedError(message, 'E_DECLINED');
    case 'QuietError':
      throw new QuietError(message);
    case 'FatalError':
      throw new FatalError(message);
    case 'ValidationError':
      throw new ValidationError(message);
    case 'string':
      throw message;
    default:
      throw new Error(message);
  }
}

export const flaky = step({
  name: 'flaky',
  inputSchema: flakyInput,
  options: { retry: { initialInterval: '10ms', maximumAttempts: 4 } },
  fn: failFirst,
});

/** Its first attempt is under way until the test opens its gate, and fails then. */
export const gatedThenFails = step({
  name: 'gatedThenFails',
  inputSchema: place.extend({ gate: z.string() }),
  options: { heartbeatTimeout: '10s', retry: { initialInterval: '1ms', maximumAttempts: 2 } },
  fn: async (input) => {
    await record(input, 'started');
    if (stepContext().attempt > 1) return 'at last';
    await passGate(input, input.gate);
    throw new Error('the first attempt fails');
  },
});

export const failsForLong = step({
  name: 'failsForLong',
  inputSchema: place,
  options: { retry: { initialInterval: '1 hour', maximumInterval: '1 hour', maximumAttempts: 3 } },
  fn: async (input) => {
    await record(input, 'ran');
    throw new Error('not yet');
  },
});

/** With the policy that a step has when it says nothing. */
export const flakyByDefault = step({ name: 'flakyByDefault', inputSchema: flakyInput, fn: failFirst });

export const flakyBackoff = step({
  name: 'flakyBackoff',
  inputSchema: flakyInput,
  options: {
    retry: { initialInterval: 50, backoffCoefficient: 3, maximumInterval: '200ms', maximumAttempts: 4 },
  },
  fn: failFirst,
});

export const flakyListed = step({
  name: 'flakyListed',
  inputSchema: flakyInput,
  options: {
    retry: {
      initialInterval: '10ms',
      maximumAttempts: 4,
      nonRetryableErrorTypes: ['DeclinedError', 'QuietError'],
    },
  },
  fn: failFirst,
});

export const flakyOnce = step({
  name: 'flakyOnce',
  inputSchema: flakyInput,
  options: { retry: { maximumAttempts: 1 } },
  fn: failFirst,
});

/** Says nothing about retries; its workflow does. */
export const flakyByWorkflow = step({ name: 'flakyByWorkflow', inputSchema: flakyInput, fn: failFirst });
