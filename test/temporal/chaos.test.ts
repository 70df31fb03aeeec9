/**
 * The cluster is killed and started again every few seconds, under load, while the real program runs on it. Afterwards:
 * no acknowledged start is lost or doubled, no acknowledged signal is, every stream saw every event once, and the API
 * server is the process that it was.
 *
 * PERDURE_CHAOS_SECONDS makes it longer: 120 is the long form.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Program, Workplace } from '../../src/cli/program.fixture.js';
import { StreamReader } from '../stream/stage.js';
import { DevServer } from './dev-server.js';
import { describeTemporal } from './required.js';

const SECONDS = Number(process.env.PERDURE_CHAOS_SECONDS ?? 20);
const WORKFLOWS = fileURLToPath(new URL('workflows', import.meta.url));
const STARTERS = 6;
/**
 * How many of a starter's runs may be open. A start costs the cluster far less than the run it begins, so without a
 * bound two minutes of starts would leave behind a queue that takes longer to work off than anybody watches.
 */
const AHEAD = 20;
const STEPS = 3;
/** How long the cluster is there and away at a time. */
const UP_MS = { least: 1_500, most: 4_000 };
const AWAY_MS = { least: 0, most: 1_500 };
/** Runs that were held up finish when the cluster stays. */
const SETTLE_MS = 90_000;

interface Reply {
  status: number;
  retryAfter: string | null;
  // biome-ignore lint/suspicious/noExplicitAny: answers are looked into by name
  body: any;
}

interface Mark {
  token: string;
  workflowId: string;
  runId: string;
  place: number;
}

interface Start {
  token: string;
  /** Absent when no answer said so. */
  run?: { workflowId: string; runId: string };
}

describeTemporal('a cluster that is killed and comes back', () => {
  const workplace = new Workplace();
  const ledger = join(workplace.folder, 'ledger');
  let cluster: DevServer;
  let server: Program & { url: string };
  let count = 0;

  beforeAll(async () => {
    writeFileSync(ledger, '');
    cluster = await DevServer.start();
    server = await workplace.serve(['--workflows', WORKFLOWS, '--workers', '1'], {
      PERDURE_ENGINE: 'temporal',
      TEMPORAL_ADDRESS: cluster.address,
    });
  });
  afterAll(async () => {
    await workplace.clear();
    await cluster?.stop();
  });

  async function call(method: string, path: string, body?: unknown, headers = {}): Promise<Reply> {
    const response = await fetch(server.url + path, {
      method,
      headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const reply = {
      status: response.status,
      retryAfter: response.headers.get('retry-after'),
      body: await response.json(),
    };
    // A cluster that is away is told as that, and in no other way.
    expect([200, 408, 424, 503], JSON.stringify(reply)).toContain(reply.status);
    if (reply.status === 503) expect(Number(reply.retryAfter), JSON.stringify(reply)).toBeGreaterThan(0);
    return reply;
  }

  /** Asks until there is an answer: for questions, which change nothing. */
  async function ask(path: string): Promise<Reply> {
    for (const deadline = Date.now() + SETTLE_MS; ; await pause(100)) {
      const reply = await call('GET', path);
      if (reply.status === 200 || Date.now() > deadline) return reply;
    }
  }

  /** Kills and restarts until the time is over; the cluster is there when it ends. */
  async function torment(until: number): Promise<number> {
    let kills = 0;
    while (Date.now() < until) {
      await pause(between(UP_MS));
      await cluster.kill(++kills % 4 === 0 ? 'SIGTERM' : 'SIGKILL');
      await pause(between(AWAY_MS));
      await cluster.restart();
    }
    return kills;
  }

  const work = () => ({ workflowName: 'works', input: { token: `token-${count++}`, ledger, steps: STEPS } });

  /** Waits until few enough of a starter's runs are open for another one. */
  async function room(starts: readonly Start[], until: number): Promise<void> {
    const run = starts.at(-AHEAD)?.run;
    if (!run) return;
    const path = `/workflow/${run.workflowId}/runs/${run.runId}/result?wait=5000`;
    while (Date.now() < until && (await call('GET', path)).body.status !== 'completed') await pause(50);
  }

  /** One call each, whatever the answer. */
  async function startsOnce(until: number): Promise<Start[]> {
    const starts: Start[] = [];
    while (Date.now() < until) {
      const body = work();
      const reply = await call('POST', '/workflow/start', body);
      starts.push({ token: body.input.token, ...(reply.status === 200 && { run: reply.body }) });
      await pause(30);
      await room(starts, until);
    }
    return starts;
  }

  /** Calls again with the same key until there is an answer, and then once more. */
  async function startsWithKey(until: number): Promise<Start[]> {
    const starts: Start[] = [];
    while (Date.now() < until) {
      const body = work();
      const key = { 'idempotency-key': body.input.token };
      let reply = await call('POST', '/workflow/start', body, key);
      while (reply.status !== 200) {
        await pause(50);
        reply = await call('POST', '/workflow/start', body, key);
      }
      const again = await call('POST', '/workflow/start', body, key);
      if (again.status === 200) expect(again.body).toEqual(reply.body);
      starts.push({ token: body.input.token, run: reply.body });
      await room(starts, until);
    }
    return starts;
  }

  /** Numbers to one run; those that were acknowledged. */
  async function signals(workflowId: string, until: number): Promise<{ sent: number; taken: number[] }> {
    const taken: number[] = [];
    let sent = 0;
    for (; Date.now() < until; sent++) {
      const reply = await call('POST', `/workflow/${workflowId}/signal/add`, { payload: sent });
      if (reply.status === 200) taken.push(sent);
      await pause(40);
    }
    return { sent, taken };
  }

  /** Follows one run to its end, over as many connections as that takes. */
  async function follows(workflowId: string, runId: string): Promise<string[]> {
    const events: string[] = [];
    let lastId: string | undefined;
    for (const deadline = Date.now() + SECONDS * 1_000 + SETTLE_MS; Date.now() < deadline; await pause(50)) {
      const headers: Record<string, string> = lastId === undefined ? {} : { 'last-event-id': lastId };
      const path = `/workflow/${workflowId}/runs/${runId}/history/stream`;
      const reader = new StreamReader(Number(new URL(server.url).port), path, { headers });
      const status = await reader.status();
      await reader.closed;
      if (status === 204) break;
      if (status === 200) {
        events.push(...reader.events);
        lastId = reader.lastId ?? lastId;
        if (reader.done) break;
      } else {
        expect(status).toBe(503);
      }
    }
    return events;
  }

  async function historyOf(workflowId: string, runId: string): Promise<string[]> {
    const events: string[] = [];
    let token: string | null = '';
    while (token !== null) {
      const query: string = token === '' ? '' : `&pageToken=${encodeURIComponent(token)}`;
      const reply = await ask(`/workflow/${workflowId}/runs/${runId}/history?pageSize=1000${query}`);
      for (const { eventId, eventTypeName } of reply.body.events) events.push(`${eventId} ${eventTypeName}`);
      token = reply.body.nextPageToken ?? null;
    }
    return events;
  }

  it(`loses and doubles nothing over ${SECONDS} s`, {
    timeout: SECONDS * 1_000 + 2 * SETTLE_MS,
  }, async () => {
    const collector = await call('POST', '/workflow/start', { workflowName: 'collects', input: null });
    expect(collector.status).toBe(200);
    const { workflowId: collectorId, runId: collectorRun } = collector.body;
    const until = Date.now() + SECONDS * 1_000;

    const streams: { workflowId: string; runId: string; events: Promise<string[]> }[] = [];
    const streaming = async () => {
      streams.push({
        workflowId: collectorId,
        runId: collectorRun,
        events: follows(collectorId, collectorRun),
      });
      while (Date.now() < until) {
        const reply = await call('POST', '/workflow/start', work());
        if (reply.status === 200) {
          const { workflowId, runId } = reply.body;
          streams.push({ workflowId, runId, events: follows(workflowId, runId) });
        }
        await pause(500);
      }
    };
    const [kills, once, keyed, signalled] = await Promise.all([
      torment(until),
      Promise.all(Array.from({ length: STARTERS }, () => startsOnce(until))).then((all) => all.flat()),
      Promise.all(Array.from({ length: STARTERS }, () => startsWithKey(until))).then((all) => all.flat()),
      signals(collectorId, until),
      streaming(),
    ]);

    // The server has been there all the time, and knows that the cluster is back.
    expect(server.child.exitCode).toBeNull();
    await expect.poll(async () => (await fetch(`${server.url}/ready`)).status).toBe(200);

    // Every acknowledged start has run to its end, under the id that was told.
    const acknowledged = [...once, ...keyed].filter((start) => start.run !== undefined);
    for (const { run } of acknowledged) {
      const { workflowId, runId } = run!;
      const { body } = await ask(`/workflow/${workflowId}/runs/${runId}/result?wait=30000`);
      expect(body).toMatchObject({ workflowId, runId, status: 'completed', output: [0, 1, 2] });
    }
    // No call has made two runs, whether it was answered or not.
    const marks = readFileSync(ledger, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Mark);
    const runsOf = new Map<string, Set<string>>();
    for (const { token, workflowId, runId } of marks) {
      runsOf.set(token, (runsOf.get(token) ?? new Set()).add(`${workflowId} ${runId}`));
    }
    expect([...runsOf].filter(([, runs]) => runs.size > 1)).toEqual([]);
    for (const { token, run } of acknowledged) {
      expect([...runsOf.get(token)!]).toEqual([`${run!.workflowId} ${run!.runId}`]);
    }

    // Acknowledged signals came once, in order; the others at most once.
    for (let finished = 0; finished !== 200; ) {
      finished = (await call('POST', `/workflow/${collectorId}/signal/finish`)).status;
    }
    const { body: collected } = await ask(`/workflow/${collectorId}/result?wait=30000`);
    const seen: number[] = collected.output;
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen.filter((value) => signalled.taken.includes(value))).toEqual(signalled.taken);

    // Streams saw what the histories hold, each event once.
    for (const { workflowId, runId, events } of streams) {
      expect(await events, workflowId).toEqual(await historyOf(workflowId, runId));
    }
    console.log(
      `${kills} kills; ${acknowledged.length} of ${once.length + keyed.length} starts acknowledged, ` +
        `${signalled.taken.length} of ${signalled.sent} signals, ${streams.length} streams`,
    );
    expect(kills).toBeGreaterThan(SECONDS / 10);
    expect(acknowledged.length).toBeGreaterThan(SECONDS);
  });
});

function between({ least, most }: { least: number; most: number }): number {
  return least + Math.random() * (most - least);
}
