/**
 * What a run costs, counted and not timed: commits, statements, pages of the log, messages to and from its worker
 * and their bytes.
 * The numbers are what they are today. Whoever makes one larger sees it here and says why; who makes one smaller lowers it.
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { FromWorker, ToWorker } from '../../src/core/task.js';
import { EmbeddedEngine } from '../../src/embedded/index.js';
import { complete, ScriptedWorker, step } from '../../src/embedded/scripted-worker.fixture.js';
import { createServer, type HttpServer } from '../../src/http/index.js';
import { type CallKind, connecting } from '../store-faults/faulty-database.js';

/** Every call to the store, by what it does to which table. */
class Counter {
  readonly counts = new Map<string, number>();

  faultOf(kind: CallKind, sql: string): undefined {
    const what = kind === 'read' || kind === 'write' ? `${kind}: ${shortOf(sql)}` : kind;
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
    return undefined;
  }

  take(): Record<string, number> {
    const taken = Object.fromEntries([...this.counts].sort());
    this.counts.clear();
    return taken;
  }
}

const shortOf = (sql: string) =>
  /(INSERT INTO|INSERT OR REPLACE INTO|UPDATE|DELETE FROM|SELECT.*? FROM) \w+/s
    .exec(sql)?.[0]
    .replace(/SELECT.*FROM/s, 'SELECT FROM') ?? sql;

let dataDir: string;
let engine: EmbeddedEngine;
let counter: Counter;
let sent: ToWorker[];
let received: FromWorker[];

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'perdure-counts-'));
  counter = new Counter();
  engine = EmbeddedEngine.open({ dataDir, connect: connecting(counter) });
  sent = [];
  received = [];
  const connect = engine.connect.bind(engine);
  engine.connect = (send, drop) => {
    const session = connect((message) => {
      sent.push(message);
      send(message);
    }, drop);
    return {
      receive: (message) => {
        received.push(message);
        session.receive(message);
      },
      disconnected: () => session.disconnected(),
    };
  };
});

afterEach(async () => {
  await engine.close();
  rmSync(dataDir, { recursive: true, force: true });
});

const start = (workflowId: string) =>
  engine.start({ workflowType: 'flow', catalog: 'default', input: ['{"n":7}'], workflowId });

/** From the start of the run to its end, with a worker that answers at once. */
async function runOf(worker: ScriptedWorker, workflowId: string, steps: number): Promise<void> {
  await start(workflowId);
  const outcome = engine.outcome({ workflowId }, { waitMs: 10_000 });
  for (let number = 1; number <= steps; number++) {
    await worker.turn(step(number));
    worker.completeStep(await worker.next('step'), '{"n":7}');
  }
  await worker.turn(complete('{"n":7}'));
  expect((await outcome)?.status).toBe('completed');
}

const kindsOf = (messages: { kind: string }[]) => messages.map(({ kind }) => kind).join(' ');
const bytesOf = (messages: unknown[]) =>
  messages.reduce<number>((sum, message) => sum + Buffer.byteLength(JSON.stringify(message)), 0);

async function counted(steps: number) {
  const worker = new ScriptedWorker(engine);
  await runOf(worker, 'first', steps);
  counter.take();
  sent = [];
  received = [];
  await runOf(worker, 'counted', steps);
  return {
    store: counter.take(),
    sent: kindsOf(sent),
    received: kindsOf(received),
    bytes: { sent: bytesOf(sent), received: bytesOf(received) },
  };
}

describe('one run by itself', () => {
  it('without a step', async () => {
    expect(await counted(0)).toEqual({
      store: {
        begin: 2,
        commit: 2,
        'read: SELECT FROM runs': 2,
        'write: INSERT INTO history': 2,
        'write: INSERT INTO runs': 1,
        'write: UPDATE runs': 1,
        'write: UPDATE tip': 2,
      },
      sent: 'turn',
      received: 'turnCompleted',
      bytes: { sent: 658, received: 152 },
    });
  });

  it('of three steps', async () => {
    // A step's end shares its commit with what the workflow does about it.
    expect(await counted(3)).toEqual({
      store: {
        begin: 5,
        commit: 5,
        'read: SELECT FROM runs': 2,
        'write: INSERT INTO history': 5,
        'write: INSERT INTO runs': 1,
        'write: UPDATE runs': 2,
        'write: UPDATE tip': 5,
      },
      sent: 'turn step turn step turn step turn',
      received:
        'turnCompleted stepCompleted turnCompleted stepCompleted turnCompleted stepCompleted turnCompleted',
      bytes: { sent: 4_614, received: 1_591 },
    });
  });
});

/** How many pages the write-ahead log has grown by, each with the head that SQLite puts before it. */
const pagesInLog = () => statSync(join(dataDir, 'perdure.db-wal')).size / (4_096 + 24);

it('a run of three steps by itself writes few pages', async () => {
  const worker = new ScriptedWorker(engine);
  await runOf(worker, 'first', 3);
  const before = pagesInLog();
  const runs = 20;
  for (let run = 1; run <= runs; run++) await runOf(worker, `counted-${run}`, 3);
  // About six for each of its five commits: the run, its indexes, a piece of history and where that is found, the tip.
  expect((pagesInLog() - before) / runs).toBeLessThanOrEqual(32);
});

it('runs that come together share pages', async () => {
  const before = pagesInLog();
  await Promise.all(Array.from({ length: 64 }, (_, i) => start(`w-${i}`)));
  expect((pagesInLog() - before) / 64).toBeLessThanOrEqual(0.35);
});

it('starts that come together share a commit', async () => {
  counter.take();
  await Promise.all(Array.from({ length: 64 }, (_, i) => start(`w-${i}`)));
  expect(counter.take()).toEqual({
    begin: 1,
    commit: 1,
    'read: SELECT FROM runs': 64,
    'write: INSERT INTO history': 64,
    'write: INSERT INTO runs': 64,
    'write: UPDATE tip': 1,
  });
});

describe('streams', () => {
  let server: HttpServer;

  beforeEach(async () => {
    server = createServer({ engine, limits: { closeGraceMs: 100 } });
    await server.listen({ host: '127.0.0.1', port: 0 });
  });
  afterEach(() => server.close());

  /** What the store does for one event that so many readers get. */
  async function readsOf(readers: number): Promise<Record<string, number>> {
    await start('followed');
    const streams = await Promise.all(
      Array.from({ length: readers }, () => Follower.of(`${server.url}/workflow/followed/history/stream`)),
    );
    for (const name of ['before', 'counted']) {
      counter.take();
      await engine.signal({ workflowId: 'followed' }, name, []);
      await Promise.all(streams.map((stream) => stream.until(`"signalName":"${name}"`)));
    }
    for (const stream of streams) stream.leave();
    return counter.take();
  }

  it('read each event once, however many follow', async () => {
    const counts = Object.entries(await readsOf(20));
    const reads = counts.reduce((sum, [what, count]) => sum + (what.startsWith('read') ? count : 0), 0);
    expect(reads).toBeLessThanOrEqual(6);
  });
});

describe('calls over HTTP', () => {
  let server: HttpServer;
  beforeEach(async () => {
    server = createServer({ engine, limits: { closeGraceMs: 100 } });
    await server.listen({ host: '127.0.0.1', port: 0 });
  });
  afterEach(() => server.close());

  async function storeOf(method: 'GET' | 'POST', path: string): Promise<Record<string, number>> {
    counter.take();
    const response = await fetch(`${server.url}${path}`, { method });
    expect(response.status, await response.text()).toBe(200);
    return counter.take();
  }

  it('do not read the input of a run that they do not tell', async () => {
    await start('known');
    const ofRun = { 'read: SELECT FROM history': 1, 'read: SELECT FROM runs': 1 };
    expect(await storeOf('GET', '/workflow/known/status')).toEqual(ofRun);
    expect(await storeOf('POST', '/workflow/known/signal/told')).toEqual({
      ...ofRun,
      begin: 1,
      commit: 1,
      'write: INSERT INTO history': 1,
      'write: UPDATE tip': 1,
    });
  });
});

class Follower {
  #text = '';
  private constructor(
    private readonly reader: ReadableStreamDefaultReader<Uint8Array>,
    private readonly abort: AbortController,
  ) {}

  static async of(url: string): Promise<Follower> {
    const abort = new AbortController();
    const response = await fetch(url, { signal: abort.signal });
    return new Follower(response.body!.getReader(), abort);
  }

  async until(text: string): Promise<void> {
    while (!this.#text.includes(text)) {
      const { value, done } = await this.reader.read();
      if (done) throw new Error(`the stream has ended without ${text}`);
      this.#text += Buffer.from(value).toString();
    }
  }

  leave(): void {
    this.abort.abort();
  }
}
