/** What callers do to the server, each at a size: the whole in `npm run overload`, a share of it in the tests. */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import type { Scenario, Stage } from './stage.js';

const times = <T>(count: number, make: (i: number) => T): T[] =>
  Array.from({ length: count }, (_, i) => make(i));

const startOf = (reply: { body: string }) => JSON.parse(reply.body) as { workflowId: string; runId: string };

async function startCollecting({ crowd }: Stage): Promise<string> {
  const reply = await crowd.post('/workflow/start', { workflowName: 'collects', input: null });
  return `/workflow/${startOf(reply).workflowId}`;
}

/** All of them wait for their result; those beyond what may wait are told to come back. */
export const synchronousRuns = (count: number): Scenario => ({
  name: `${count} synchronous runs of a second at once`,
  async load(stage) {
    const call = { workflowName: 'works', input: { ms: 1_000 }, timeout: 120_000 };
    const done = stage.judge(await Promise.all(times(count, () => stage.crowd.post('/workflow/run', call))));
    const failed = done.filter(({ body }) => (JSON.parse(body) as { status: string }).status !== 'completed');
    if (done.length === 0) return ['none was let in'];
    return failed.length > 0 ? [`${failed.length} have not completed: ${failed[0]!.body.slice(0, 200)}`] : [];
  },
});

/** Whoever hangs up is not waited for, and the run goes on. */
export const abandonedRuns = (count: number): Scenario => ({
  name: `${count} synchronous runs whose callers hang up`,
  async load({ crowd, service }) {
    const body = JSON.stringify({ workflowName: 'works', input: { ms: 500 }, timeout: 600_000 });
    await Promise.all(
      times(count, async (i) => {
        const asked = crowd.send({ path: '/workflow/run', body });
        asked.on('error', () => {});
        await once(asked, 'socket');
        // Some before their call is read, some while it waits.
        await new Promise((resolve) => setTimeout(resolve, (i % 10) * 50));
        asked.destroy();
      }),
    );
    const { status } = await service.run('says', null);
    return status === 'completed' ? [] : [`a run beside them is ${status}`];
  },
});

const EVENT_BYTES = 50_000;

/** Half of them read all of it, the others nothing, while the run gets one large event after the other. */
export const streams = (count: number, events: number): Scenario => ({
  name: `${count} streams, half of which are not read, and ${events} events of ${EVENT_BYTES} bytes`,
  async load(stage) {
    const { crowd } = stage;
    const path = await startCollecting(stage);
    const unread: IncomingMessage[] = [];
    const reading: Promise<number[]>[] = [];
    for (let i = 0; i < count; i++) {
      const response = await crowd.begin({ path: `${path}/history/stream?includePayloads=true` });
      if (response.statusCode !== 200) return [`a stream is ${response.statusCode}`];
      response.on('error', () => {});
      if (i % 2 === 0) unread.push(response.pause());
      else reading.push(eventIdsOf(response));
    }
    const payload = 'x'.repeat(EVENT_BYTES);
    for (let i = 0; i < events; i++) stage.judge([await crowd.post(`${path}/signal/add`, { payload })]);
    stage.judge([await crowd.post(`${path}/signal/finish`, {})]);
    const incomplete = (await Promise.all(reading)).filter(
      (ids) => ids.some((id, i) => id !== i + 1) || ids.length < events,
    );
    for (const response of unread) response.destroy();
    return incomplete.length > 0 ? [`${incomplete.length} readers have not seen every event once`] : [];
  },
});

/** Numbers of the events that a stream carries, to its end. */
async function eventIdsOf(response: IncomingMessage): Promise<number[]> {
  const ids: number[] = [];
  let rest = '';
  for await (const chunk of response.setEncoding('utf8')) {
    const frames = (rest + chunk).split('\n\n');
    rest = frames.pop()!;
    for (const frame of frames) {
      if (!frame.includes('event: history')) continue;
      for (const [, id] of frame.matchAll(/"eventId":"(\d+)"/g)) ids.push(Number(id));
    }
  }
  return ids;
}

const SIGNALS = 40;
const SPENDING_STEPS = 20;
const COSTS_OF_A_STEP = 250;

/** They follow the same runs, so what one of them lacks all lack: the next event, a history, what has been spent. */
export const followers = (size: { polls: number; pages: number; costs: number }): Scenario => ({
  name: `${size.polls} long polls and ${size.pages} pages of one run, and ${size.costs} streams of what another has spent`,
  async load(stage) {
    const { crowd } = stage;
    const problems: string[] = [];
    const path = await startCollecting(stage);
    const payload = 'x'.repeat(EVENT_BYTES);
    const add = async () => stage.judge([await crowd.post(`${path}/signal/add`, { payload })]);
    for (let i = 0; i < SIGNALS; i++) await add();

    const page = (query: string) => crowd.call({ path: `${path}/history?includePayloads=true&${query}` });
    const afterTheFirst = await nextTokenOf(page('pageSize=1'));
    const pages = stage
      .judge(await Promise.all(times(size.pages, () => page(`pageSize=1000&pageToken=${afterTheFirst}`))))
      .map(({ body }) => eventsOf(body).map((event) => JSON.stringify(event)));
    // The turn of the last signals may come between them.
    const longest = pages.reduce((one, other) => (other.length > one.length ? other : one));
    if (longest.length < SIGNALS || pages.some((events) => events.some((event, i) => event !== longest[i])))
      problems.push('pages that are not the same');

    const caughtUp = await nextTokenOf(page('pageSize=1000&longPollTimeoutMs=1'));
    const polls = times(size.polls, () => page(`longPollTimeoutMs=60000&pageToken=${caughtUp}`));
    await stage.untilWaiting(size.polls);
    await add();
    const answers = stage.judge(await Promise.all(polls)).map(({ body }) => eventsOf(body));
    const heard = answers.filter(([event]) => event?.eventTypeName === 'WORKFLOW_EXECUTION_SIGNALED');
    if (heard.length < size.polls) problems.push(`${heard.length} of ${size.polls} heard of the signal`);
    stage.judge([await crowd.post(`${path}/signal/finish`, {})]);

    const spending = { workflowName: 'spends', input: { steps: SPENDING_STEPS, costs: COSTS_OF_A_STEP } };
    const [spent] = stage.judge([await crowd.post('/workflow/run', spending)]);
    const streams = times(size.costs, () =>
      crowd.call({ path: `/workflow/${startOf(spent!).workflowId}/history/stream?costs=true` }),
    );
    const told = stage.judge(await Promise.all(streams)).map(({ body }) => recordsIn(body));
    const wanted = SPENDING_STEPS * COSTS_OF_A_STEP;
    if (told.some((count) => count !== wanted))
      problems.push(`streams told of ${[...new Set(told)]} costs, not ${wanted}`);
    return problems;
  },
});

interface HistoryPage {
  events: { eventTypeName: string }[];
  nextPageToken: string;
}

const eventsOf = (body: string) => (JSON.parse(body) as HistoryPage).events;

async function nextTokenOf(page: Promise<{ body: string }>): Promise<string> {
  return (JSON.parse((await page).body) as HistoryPage).nextPageToken;
}

/** How many costs a stream has told of. */
function recordsIn(stream: string): number {
  let records = 0;
  for (const frame of stream.split('\n\n')) {
    const data = /^event: cost\ndata: (.*)$/m.exec(frame)?.[1];
    if (data !== undefined) records += (JSON.parse(data) as { records: unknown[] }).records.length;
  }
  return records;
}

/** More than one run takes, and more than is let in at a time. */
export const bursts = (size: {
  starts: number;
  signals: number;
  updates: number;
  queries: number;
  lists: number;
}): Scenario => ({
  name: `bursts: ${Object.entries(size)
    .map(([what, count]) => `${count} ${what}`)
    .join(', ')}`,
  async load(stage) {
    const { crowd } = stage;
    const problems: string[] = [];
    const all = async (count: number, call: (i: number) => ReturnType<typeof crowd.call>) =>
      stage.judge(await Promise.all(times(count, call)));

    await all(size.starts, () => crowd.post('/workflow/start', { workflowName: 'says', input: null }));
    const path = await startCollecting(stage);
    const signals = await all(size.signals, (payload) => crowd.post(`${path}/signal/add`, { payload }));
    const updates = await all(size.updates, (payload) => crowd.post(`${path}/update/put`, { payload }));
    if (updates.length === size.updates) problems.push('every update was let in at once');
    await all(size.queries, () => crowd.post(`${path}/query/count`, {}));
    await all(size.lists, () => crowd.call({ path: '/workflow/runs?status=failed&limit=1000' }));
    const [seen] = await all(1, () => crowd.post(`${path}/query/count`, {}));
    if (Number(seen?.body) !== signals.length)
      problems.push(`${signals.length} signals were accepted and ${seen?.body} seen`);
    // The run may have had as many signals as it may get, so it is ended otherwise.
    await all(1, () => crowd.post(`${path}/terminate`, {}));
    return problems;
  },
});

/** Bodies of the largest size, all at once. */
export const largeBodies = (count: number): Scenario => ({
  name: `${count} starts of 2 MB at once`,
  async load(stage) {
    const body = JSON.stringify({ workflowName: 'works', input: { pad: 'x'.repeat(2_000_000) } });
    const replies = await Promise.all(
      times(count, () => stage.crowd.call({ path: '/workflow/start', body })),
    );
    // One who is told so while it still sends may find the connection closed by then.
    const started = stage.judge(replies.filter(({ status }) => status !== 0));
    return started.length === 0 ? ['none was let in'] : [];
  },
});

/** Nobody at the other end: requests that do not end, and answers that are not read. */
export const deadPeers = (count: number): Scenario => ({
  name: `${count} connections of callers who stop in the middle`,
  async load(stage) {
    const body = JSON.stringify({ workflowName: 'works', input: { pad: 'x'.repeat(200_000) } });
    const head = 'POST /workflow/start HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n';
    const pieces = [
      'POST /workf',
      `${head}Content-Length: 2000000\r\n\r\n${body}`,
      `${head}Transfer-Encoding: chunked\r\n\r\n30000\r\n${body.slice(0, 0x30000)}`,
      '',
    ];
    const sockets = await Promise.all(times(count, (i) => openSocket(stage, pieces[i % pieces.length]!)));
    const { status } = await stage.service.run('says', null);
    const open = sockets.filter((socket) => !socket.destroyed).length;
    for (const socket of sockets) socket.destroy();
    if (open === 0) return ['none was kept for a moment'];
    return status === 'completed' ? [] : [`a run beside them is ${status}`];
  },
});

async function openSocket({ service }: Stage, text: string): Promise<Socket> {
  const socket = connect({ port: service.options.port, host: '127.0.0.1' });
  socket.on('error', () => {});
  await once(socket, 'connect');
  socket.write(text);
  return socket;
}
