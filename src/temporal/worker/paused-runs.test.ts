/** Steps of a run that is let go on while a worker is about to hold one back: none stays behind. */
import { describe, expect, it } from 'vitest';
import { silentLog } from '../../core/log.js';
import type { Cluster } from '../cluster/connection.js';
import { MEMO } from '../cluster/conventions.js';
import { toPayload } from '../translate/payload.js';
import { goesOn, whilePaused } from './paused-runs.js';

const RUN = { workflowId: 'w', runId: 'r' };

/** A paused run with one step, which a worker has; `looked` and `held` are told when somebody looks at it, or pauses the step. */
class World {
  isPaused = true;
  hasTurn = false;
  isHeldBack = false;

  constructor(
    private readonly looked: (world: World) => void,
    private readonly held: (world: World) => void = () => {},
  ) {}

  readonly #service = {
    describeWorkflowExecution: async () => {
      const paused = this.isPaused ? { reason: 'lunch', by: 'operator', since: 1 } : null;
      const described = {
        workflowExecutionInfo: {
          ...{ execution: RUN, status: 1 },
          memo: { fields: { [MEMO.paused]: toPayload(JSON.stringify(paused)) } },
        },
        pendingActivities: [{ activityId: '1', paused: this.isHeldBack }],
        ...(this.hasTurn && { pendingWorkflowTask: { attempt: 1, startedTime: { seconds: 1 } } }),
      };
      this.looked(this);
      return described;
    },
    pauseActivity: async () => {
      this.isHeldBack = true;
      this.held(this);
    },
    unpauseActivity: async () => {
      this.isHeldBack = false;
    },
  };

  readonly cluster = {
    ...{ namespace: 'n', identity: 'i' },
    call: (ask: (of: unknown) => Promise<unknown>) => ask(this.#service),
  } as unknown as Cluster;
}

describe('a further attempt of a step whose run is paused', () => {
  const attempt = { attempt: 2, activityId: '1', workflowExecution: RUN } as never;
  const refusal = (world: World) => whilePaused(() => world.cluster, 'me')(attempt);

  it('is held back', async () => {
    const world = new World(() => {});
    expect(await refusal(world)).toMatchObject({ type: 'RunPaused' });
    expect(world.isHeldBack).toBe(true);
  });

  it('is due again when the run was let go on meanwhile', async () => {
    const world = new World(
      () => {},
      (now) => {
        now.isPaused = false;
      },
    );
    expect(await refusal(world)).toMatchObject({ type: 'RunPaused' });
    expect(world.isHeldBack).toBe(false);
  });
});

describe('a run that goes on', () => {
  it('lets a step go on that was held back before the turn that ends the pause is recorded', async () => {
    let looks = 0;
    const world = new World((now) => {
      if (++looks > 1) return;
      now.hasTurn = false;
      now.isPaused = false;
      now.isHeldBack = true;
    });
    world.hasTurn = true;
    await goesOn(() => world.cluster, silentLog)(RUN);
    expect(world.isHeldBack).toBe(false);
  });
});
