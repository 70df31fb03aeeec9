// Runs that sleep for a month: what waiting runs cost is measured on them.

const MONTH_MS = 30 * 24 * 3_600_000;
/** Started, turn scheduled, turn started, turn completed, timer started: from here on the run sleeps. */
const EVENTS_OF_A_SLEEPING_RUN = 5;

/** Answers how many starts a second it took. */
export async function startSleepers(scene, count) {
  const { perSecond } = await scene.load({
    path: '/workflow/start',
    body: JSON.stringify({ workflowName: 'sleeping', workflowId: 'sleeper-$i', input: { ms: MONTH_MS } }),
    expect: '"workflowId":"sleeper-',
    connections: 64,
    count,
  });
  // A start is answered before the run's first turn; every hundredth run stands for its neighbours, and the last one.
  const watched = Array.from({ length: Math.floor(count / 100) }, (_, i) => (i + 1) * 100);
  for (const i of [...watched, count])
    await scene.until(`sleeper-${i} falling asleep`, () => isAsleep(scene, i));
  return perSecond;
}

export async function isAsleep(scene, i) {
  const { status, historyLength } = await scene.get(`/workflow/sleeper-${i}/status`);
  return status === 'running' && historyLength >= EVENTS_OF_A_SLEEPING_RUN;
}
