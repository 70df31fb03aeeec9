/** A share of `npm run overload`: the server is asked for more than it can take, and is as before when that is over. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  abandonedRuns,
  bursts,
  deadPeers,
  followers,
  largeBodies,
  streams,
  synchronousRuns,
} from './scenarios.js';
import { Stage } from './stage.js';

/** Far more than it takes, and far less than a loop that is blocked by what it has accepted. */
const HEALTH_MS = 20_000;

describe('under more load than it can take, the server', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await Stage.open();
  });
  afterAll(() => stage.close());

  test.each([
    synchronousRuns(1_000),
    abandonedRuns(300),
    streams(200, 40),
    followers({ polls: 200, pages: 20, costs: 10 }),
    bursts({ starts: 1_000, signals: 1_500, updates: 100, queries: 200, lists: 100 }),
    largeBodies(50),
    deadPeers(400),
  ])('$name', { timeout: 180_000 }, async (scenario) => {
    const { problems, health, statuses } = await stage.measure(scenario);
    expect(problems, JSON.stringify(statuses)).toEqual([]);
    expect(health.kept.longestMs).toBeLessThan(HEALTH_MS);
  });
});
