import { step, stepContext, z } from 'perdure';
import { hang, place, record } from '../ledger.js';

/** What does not hang is through by then, also where hundreds of cases share a busy machine. */
const IN_TIME = '4s';

const slowInput = place.extend({
  /** Attempts that hang; the next one returns its number. */
  hangs: z.number(),
});

async function hangFirst(input: z.infer<typeof slowInput>): Promise<number> {
  const { attempt, signal } = stepContext();
  await record(input, 'ran');
  if (attempt > input.hangs) return attempt;
  return hang().catch(async (error) => {
    await record(input, 'aborted', signal.aborted);
    throw error;
  });
}

export const shortAttempt = step({
  name: 'shortAttempt',
  inputSchema: slowInput,
  options: { startToCloseTimeout: IN_TIME, retry: { initialInterval: '10ms', maximumAttempts: 2 } },
  fn: hangFirst,
});

export const shortWhole = step({
  name: 'shortWhole',
  inputSchema: slowInput,
  options: { scheduleToCloseTimeout: IN_TIME, retry: { initialInterval: '10ms', maximumAttempts: 0 } },
  fn: hangFirst,
});

/** Its next attempt would begin after its time is over. */
export const shortBackoff = step({
  name: 'shortBackoff',
  inputSchema: place,
  options: { scheduleToCloseTimeout: '10 minutes', retry: { initialInterval: '1 hour', maximumAttempts: 5 } },
  fn: async (input): Promise<string> => {
    await record(input, 'ran');
    throw new Error('try me much later');
  },
});

export const shortQueue = step({
  name: 'shortQueue',
  inputSchema: place,
  options: { scheduleToStartTimeout: '300ms', retry: { initialInterval: '10ms', maximumAttempts: 5 } },
  fn: async (input) => {
    await record(input, 'ran');
    return 'ran';
  },
});

/** Beats a few times, then falls silent; the next attempt returns what it was left. */
export const silent = step({
  name: 'silent',
  inputSchema: slowInput,
  options: { heartbeatTimeout: IN_TIME, retry: { initialInterval: '10ms', maximumAttempts: 2 } },
  fn: async (input): Promise<unknown> => {
    const { attempt, heartbeat, lastHeartbeat } = stepContext();
    await record(input, 'ran', lastHeartbeat);
    if (attempt > input.hangs) return { attempt, lastHeartbeat };
    heartbeat({ page: 1 });
    heartbeat({ page: 2, of: attempt });
    return hang();
  },
});

/** Outlives its heartbeat timeout several times over, because it beats. */
export const beating = step({
  name: 'beating',
  inputSchema: place,
  options: { heartbeatTimeout: IN_TIME, retry: { initialInterval: '10ms', maximumAttempts: 0 } },
  fn: async (input) => {
    const { heartbeat } = stepContext();
    await record(input, 'ran');
    for (let beat = 1; beat <= 12; beat++) {
      await new Promise((resolve) => setTimeout(resolve, 400));
      heartbeat(beat);
    }
    return 'beaten';
  },
});

/** Fails after it has told how far it came. */
export const leavingOff = step({
  name: 'leavingOff',
  inputSchema: place,
  options: { heartbeatTimeout: '10s', retry: { initialInterval: '10ms', maximumAttempts: 2 } },
  fn: async (input) => {
    const { attempt, heartbeat, lastHeartbeat } = stepContext();
    await record(input, 'ran');
    if (attempt > 1) return lastHeartbeat;
    heartbeat({ done: 7 });
    throw new Error('stumbled');
  },
});

/** Does not hear that its time is over: its first attempt answers long after it has lost the step. */
export const deaf = step({
  name: 'deaf',
  inputSchema: place,
  options: { heartbeatTimeout: IN_TIME, retry: { initialInterval: '10ms', maximumAttempts: 2 } },
  fn: async (input) => {
    const { attempt } = stepContext();
    await record(input, 'started');
    const gate = fetch(`${input.ledger}/gate/${encodeURIComponent(`${input.key}/${attempt}`)}`);
    if (attempt > 1) {
      const beat = setInterval(stepContext().heartbeat, 50);
      await gate.finally(() => clearInterval(beat));
    } else {
      await gate;
    }
    await record(input, 'answering');
    return `answer of attempt ${attempt}`;
  },
});
