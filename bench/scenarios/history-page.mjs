// Whether a page far down a long history costs more than one at its beginning.
import { Scene } from '../lib/scene.mjs';
import { median, ratios } from '../lib/statistics.mjs';
import { figure, number, ratioText } from '../lib/table.mjs';

const EVENTS = 200_000;
const WIDTH = 500;
/** Scheduled, started, completed. */
const EVENTS_OF_A_STEP = 3;
const NEAR_THE_START = 10;
const EXPECTED_RATIO = 1.5;

/** A run of at least so many events that stays open. */
async function longRun(scene, events) {
  const batches = Math.ceil(events / (WIDTH * EVENTS_OF_A_STEP));
  const { workflowId } = await scene.post('/workflow/start', {
    workflowName: 'wide',
    input: { batches, width: WIDTH },
  });
  await scene.until(
    `a history of ${events} events`,
    async () => {
      const { status, historyLength } = await scene.get(`/workflow/${workflowId}/status`);
      if (status !== 'running') throw new Error(`the long run is ${status}`);
      return historyLength >= events;
    },
    600_000,
  );
  return workflowId;
}

/** The token that leads on after the event; pages are walked to it, as a reader would. */
async function tokenAfter(scene, workflowId, event) {
  let token;
  for (let last = 0; last < event; ) {
    const pageSize = Math.min(1_000, event - last);
    const page = await scene.get(
      `/workflow/${workflowId}/history?pageSize=${pageSize}${token ? `&pageToken=${token}` : ''}`,
    );
    last = Number(page.events.at(-1).eventId);
    token = page.nextPageToken;
  }
  return token;
}

export const historyPage = {
  name: 'history-page',
  title: 'A page of twenty events of a history: after event 10 and after event 200,000',
  systems: ['perdure'],
  minutes: 2,
  measure: ({ rounds, seconds, sized }) =>
    Scene.play('history-page', async (scene) => {
      await scene.start();
      const events = sized(EVENTS, 3_000);
      const workflowId = await longRun(scene, events + 20);
      const positions = [NEAR_THE_START, events];
      const tokens = new Map();
      for (const after of positions) tokens.set(after, await tokenAfter(scene, workflowId, after));
      const samples = [];
      // Both places in every round: what disturbs the machine disturbs both.
      for (let round = 1; round <= rounds; round++) {
        for (const payloads of [false, true]) {
          for (const after of positions) {
            const measured = await scene.load({
              method: 'GET',
              path: `/workflow/${workflowId}/history?pageSize=20&pageToken=${tokens.get(after)}&includePayloads=${payloads}`,
              expect: `"eventId":"${after + 1}"`,
              connections: 1,
              seconds,
              warmUpSeconds: 0.5,
            });
            samples.push({ payloads, after, round, ...measured });
          }
        }
      }
      const all = (payloads, after) =>
        samples.filter((sample) => sample.payloads === payloads && sample.after === after);
      const of = (payloads, after, key) => median(all(payloads, after).map((sample) => sample[key]));
      const perRound = (payloads, after) =>
        new Map(all(payloads, after).map(({ round, p50Ms }) => [round, p50Ms]));
      const timesStart = (payloads, after) =>
        ratios(perRound(payloads, after), perRound(payloads, NEAR_THE_START));
      const times = timesStart(false, events).median;
      return {
        tables: [
          {
            head: ['payloads', 'after event', 'pages/s', 'p50 ms', 'p99 ms', 'p99.9 ms', '× event 10'],
            rows: [false, true].flatMap((payloads) =>
              positions.map((after) => [
                payloads ? 'with' : 'without',
                number(after),
                number(of(payloads, after, 'perSecond')),
                ...['p50Ms', 'p99Ms', 'p999Ms'].map((key) => figure(of(payloads, after, key))),
                after === NEAR_THE_START ? '' : ratioText(timesStart(payloads, after)),
              ]),
            ),
          },
        ],
        samples,
        checks: [
          {
            what: `a page after event ${number(events)} takes ${figure(times)} times one after event ${NEAR_THE_START}, at most ${EXPECTED_RATIO} expected`,
            met: times <= EXPECTED_RATIO,
          },
        ],
      };
    }),
};
