import { step, stepContext, z } from 'perdure';
import { passGate, place, record } from '../ledger.js';

/** Records that it ran, and returns its value. */
export const note = step({
  name: 'note',
  inputSchema: place.extend({ value: z.unknown() }),
  fn: async (input) => {
    await record(input, 'ran', input.value);
    return input.value;
  },
});

/** Two more of the kind, for the cases that tell steps apart by name. */
export const noteBefore = step({
  name: 'noteBefore',
  inputSchema: place.extend({ value: z.unknown() }),
  fn: async (input) => {
    await record(input, 'ran', input.value);
    return input.value;
  },
});

export const noteAfter = step({
  name: 'noteAfter',
  inputSchema: place.extend({ value: z.unknown() }),
  fn: async (input) => {
    await record(input, 'ran', input.value);
    return input.value;
  },
});

const gatedInput = place.extend({ gate: z.string() });

async function waitAtGate(input: z.infer<typeof gatedInput>): Promise<string> {
  await record(input, 'started');
  try {
    await passGate(input, input.gate);
  } catch (error) {
    await record(input, 'aborted', String(stepContext().signal.reason));
    throw error;
  }
  await record(input, 'finished');
  return `released ${input.gate}`;
}

const patient = { heartbeatTimeout: '10s', retry: { initialInterval: '20ms', maximumAttempts: 5 } } as const;

/** Under way until the test opens its gate. */
export const gated = step({ name: 'gated', inputSchema: gatedInput, options: patient, fn: waitAtGate });

export const gatedTryCancel = step({
  name: 'gatedTryCancel',
  inputSchema: gatedInput,
  options: { ...patient, cancellationType: 'TRY_CANCEL' },
  fn: waitAtGate,
});

export const gatedWaitCancelled = step({
  name: 'gatedWaitCancelled',
  inputSchema: gatedInput,
  options: { ...patient, cancellationType: 'WAIT_CANCELLATION_COMPLETED' },
  fn: waitAtGate,
});

export const gatedAbandon = step({
  name: 'gatedAbandon',
  inputSchema: gatedInput,
  options: { ...patient, cancellationType: 'ABANDON' },
  fn: waitAtGate,
});

/** Hears its cancellation and finishes its work all the same. */
export const stubborn = step({
  name: 'stubborn',
  inputSchema: gatedInput,
  options: { ...patient, cancellationType: 'WAIT_CANCELLATION_COMPLETED' },
  fn: async (input) => {
    await record(input, 'started');
    await passGate(input, input.gate).catch(() => record(input, 'ignored'));
    return 'done anyway';
  },
});

/** Throws an error of its own when it is cancelled. */
export const sulking = step({
  name: 'sulking',
  inputSchema: gatedInput,
  options: { ...patient, cancellationType: 'WAIT_CANCELLATION_COMPLETED' },
  fn: async (input) => {
    await record(input, 'started');
    await passGate(input, input.gate).catch(() => {
      throw new Error('cleanup failed');
    });
    return 'unreachable';
  },
});
