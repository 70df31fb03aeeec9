import { describe, expect, it } from 'vitest';
import { PAUSE_SIGNAL, pauseArguments } from '../../core/run/pause.js';
import type { Cluster, WorkflowService } from '../cluster/connection.js';
import { toPayloads } from '../translate/payload.js';
import { type KnownRun, Runs } from './runs.js';

const TURN_SCHEDULED = 5;
const TURN_STARTED = 6;
const TURN_COMPLETED = 7;
const SIGNALED = 26;

/** The history of a run that was paused after its first turn, as long as it is when it is read. */
function runsReading(length: number): Runs {
  const input = toPayloads(pauseArguments({ reason: 'a look', by: 'operator', at: 5 }));
  const events = [
    1,
    TURN_SCHEDULED,
    TURN_STARTED,
    TURN_COMPLETED,
    SIGNALED,
    TURN_SCHEDULED,
    TURN_STARTED,
    TURN_COMPLETED,
  ]
    .map((eventType, index) => ({
      eventId: index + 1,
      eventType,
      ...(eventType === SIGNALED && {
        workflowExecutionSignaledEventAttributes: { signalName: PAUSE_SIGNAL, input },
      }),
    }))
    .slice(0, length)
    .reverse();
  const service = { getWorkflowExecutionHistoryReverse: async () => ({ history: { events } }) };
  return new Runs({
    namespace: 'default',
    call: <T>(ask: (service: WorkflowService) => Promise<T>) => ask(service as unknown as WorkflowService),
  } as unknown as Cluster);
}

/** As it was described between the message and the turn that takes it: its memo says nothing of a pause. */
const DESCRIBED = {
  workflowId: 'w',
  runId: 'r',
  status: 'running',
  isStopping: false,
  historyLength: 6,
  firstTurnAt: 0,
  pendingTurn: { attempt: 1, scheduledAt: 1 },
} as unknown as KnownRun;

describe('a pause that no turn had taken when the run was described', () => {
  it.each([
    ['the message is the last event', 5],
    ['a turn for it is due', 6],
    ['the turn has ended before the history is read', 8],
  ])('is seen when %s', async (_, length) => {
    const paused = await runsReading(length).paused(DESCRIBED);
    expect(paused).toMatchObject({ reason: 'a look', by: 'operator' });
  });
});
