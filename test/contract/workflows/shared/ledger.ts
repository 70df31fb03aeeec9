/** The step's side of the test's ledger (../../ledger.ts): what ran is told there, gates are waited for there. */
import { stepContext, z } from 'perdure';

/** Where a step reports to; every input of a recorded step carries it. */
export const place = z.object({ ledger: z.string(), key: z.string() });
export type Place = z.infer<typeof place>;

export async function record(place: Place, what: string, value?: unknown): Promise<void> {
  const { attempt, stepName, workflowId, runId, idempotencyKey } = stepContext();
  await fetch(`${place.ledger}/record`, {
    method: 'POST',
    body: JSON.stringify({
      key: place.key,
      what,
      value,
      step: stepName,
      attempt,
      workflowId,
      runId,
      idempotencyKey,
      at: Date.now(),
      pid: process.pid,
    }),
  });
}

/** Waits until the test opens the gate, and says by heartbeats that it is alive, as a long step should. */
export async function passGate(place: Place, gate: string): Promise<void> {
  const { signal, heartbeat } = stepContext();
  const beat = setInterval(() => heartbeat(), 200);
  try {
    await fetch(`${place.ledger}/gate/${encodeURIComponent(gate)}`, { signal });
  } finally {
    clearInterval(beat);
  }
}

/** Never returns by itself: only the step's AbortSignal ends it. */
export function hang(): Promise<never> {
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
