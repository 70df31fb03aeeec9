import { step, stepContext, z } from 'perdure';
import type { Spending, StepBehaviour } from '../../program.js';
import { errorOf } from './errors.js';
import { valueFrom } from './values.js';

interface ActInput {
  site: number;
  does: StepBehaviour;
  spends?: Spending[];
  /** Where it says that it has begun. */
  ledger?: string;
}

const quick = { initialInterval: 5, backoffCoefficient: 1, maximumInterval: 5 } as const;

function spend(spends: Spending[] = []): void {
  for (const each of spends) stepContext().cost(each);
}

/** Which attempt it is, without those that were held back. */
async function begin({ site, ledger }: { site: number; ledger?: string }): Promise<number> {
  const { runId, attempt } = stepContext();
  if (ledger === undefined) return attempt;
  const begun = await fetch(`${ledger}/${runId}/${site}/begun`);
  return Number(await begun.text());
}

async function behave({ site, does, spends, ledger }: ActInput): Promise<unknown> {
  const attempt = await begin({ site, ledger });
  spend(spends);
  const { heartbeat, lastHeartbeat } = stepContext();
  switch (does.kind) {
    case 'return':
      return valueFrom(does.value);
    case 'fail':
      if (attempt <= does.times) throw errorOf(does.error);
      return { attempt };
    case 'beat':
      if (attempt > 1) return { attempt, lastHeartbeat };
      heartbeat({ done: 7 });
      throw new Error('stumbled');
    case 'hang':
      if (attempt <= does.times) await aborted();
      return { attempt };
  }
}

/** Only the step's AbortSignal ends it. */
function aborted(): Promise<never> {
  const { signal } = stepContext();
  return new Promise((_, reject) => {
    const alive = setInterval(() => {}, 1_000);
    const stop = () => {
      clearInterval(alive);
      reject(signal.reason);
    };
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
}

export const act = step({ name: 'act', options: { retry: { ...quick, maximumAttempts: 3 } }, fn: behave });

export const actOnce = step({ name: 'actOnce', options: { retry: { maximumAttempts: 1 } }, fn: behave });

export const actListed = step({
  name: 'actListed',
  options: { retry: { ...quick, maximumAttempts: 3, nonRetryableErrorTypes: ['ListedError', 'TypeError'] } },
  fn: behave,
});

/** Its second attempt would begin after its time is over. */
export const actLater = step({
  name: 'actLater',
  options: { scheduleToCloseTimeout: '20s', retry: { initialInterval: '1 minute', maximumAttempts: 3 } },
  fn: behave,
});

/** Long enough that an attempt which answers at once is late on a very busy machine only, which the observation tells. */
const ATTEMPT = '3s';

export const slow = step({
  name: 'slow',
  options: { startToCloseTimeout: ATTEMPT, retry: { ...quick, maximumAttempts: 2 } },
  fn: behave,
});

export const silent = step({
  name: 'silent',
  options: { heartbeatTimeout: ATTEMPT, retry: { ...quick, maximumAttempts: 2 } },
  fn: behave,
});

/** Schemas parse on both sides: three failures do not fit the first, most values do not fit the second. */
export const strict = step({
  name: 'strict',
  inputSchema: z.object({
    site: z.number(),
    does: z.looseObject({ kind: z.string(), times: z.number().max(2).optional() }),
    spends: z.array(z.any()).optional(),
    ledger: z.string().optional(),
    extra: z.string().default('given'),
  }),
  outputSchema: z.object({ attempt: z.number() }),
  fn: async ({ site, does, spends, ledger }) =>
    (await behave({ site, does: does as StepBehaviour, spends, ledger })) as { attempt: number },
});

interface HoldInput {
  site: number;
  holds: string;
  spends?: Spending[];
  ledger?: string;
}

async function holding({ site, holds, spends, ledger }: HoldInput): Promise<string> {
  await begin({ site, ledger });
  spend(spends);
  const { signal, heartbeat, runId, attempt } = stepContext();
  const beat = setInterval(() => heartbeat(), 100);
  try {
    const released = await fetch(`${holds}/${runId}/${site}/${attempt}`, { signal });
    const how = await released.text();
    if (how === 'throw') throw new TypeError('released with an error');
    return how;
  } finally {
    clearInterval(beat);
  }
}

const patient = { heartbeatTimeout: '10s', retry: { ...quick, maximumAttempts: 2 } } as const;

export const holdTry = step({
  name: 'holdTry',
  options: { ...patient, cancellationType: 'TRY_CANCEL' },
  fn: holding,
});

export const holdWait = step({
  name: 'holdWait',
  options: { ...patient, cancellationType: 'WAIT_CANCELLATION_COMPLETED' },
  fn: holding,
});

export const holdAbandon = step({
  name: 'holdAbandon',
  options: { ...patient, cancellationType: 'ABANDON' },
  fn: holding,
});
