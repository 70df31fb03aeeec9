/** No event is lost or sent twice over any pattern of disconnects: hundreds of cuts at random bytes (`CUTS=1000` for more). */
import { afterEach, describe, expect, it } from 'vitest';
import { complete, step } from '../../src/embedded/scripted-worker.fixture.js';
import { Stage, type StreamReader } from './stage.js';

const CUTS = Number(process.env.CUTS ?? 400);

let stage: Stage;
afterEach(() => stage.close());

/** Mulberry32: small, seeded, good enough to choose with. */
function randomFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

/** A workflow whose run goes on for as long as the test says. */
class Subject {
  readonly runIds: string[] = [];
  #steps = 0;
  #continuesAfter: number;

  constructor(
    private readonly random: (below: number) => number,
    private readonly canContinue: boolean,
  ) {
    this.#continuesAfter = this.#aFewSteps();
  }

  #aFewSteps(): number {
    return 1 + this.random(40);
  }

  async begin(): Promise<void> {
    this.runIds.push((await stage.start('w')).runId);
  }

  async advance(): Promise<void> {
    if (this.canContinue && this.#continuesAfter-- === 0) {
      this.#continuesAfter = this.#aFewSteps();
      await stage.worker.turn({ kind: 'continueAsNew', workflowType: 'flow', input: ['null'] });
      // The next turn is one of the new run, so the new run is there.
      const next = await stage.worker.next('turn');
      this.runIds.push(next.runId);
      stage.worker.completeTurn(next, [step(++this.#steps)]);
    } else {
      await stage.worker.turn(step(++this.#steps));
    }
    const text = '\u2028\n'.repeat(this.random(3) === 0 ? this.random(5_000) : 1);
    stage.worker.completeStep(await stage.worker.next('step'), JSON.stringify(text));
  }

  async end(): Promise<void> {
    await stage.worker.turn(complete());
    await stage.engine.outcome({ workflowId: 'w' }, { waitMs: 5_000 });
  }

  async history(): Promise<string[]> {
    const all: string[] = [];
    for (const runId of this.runIds) {
      const events = await stage.historyOf({ workflowId: 'w', runId });
      all.push(...events.map((event) => `${runId}/${event}`));
    }
    return all;
  }
}

const runOf = (reader: StreamReader) =>
  (JSON.parse(reader.of('workflow')[0]?.data ?? '{}') as { runId?: string }).runId;

/** Whether the reader, which came with `lastId`, has all that there is of the latest run. */
async function isCaughtUp(reader: StreamReader, lastId: string | undefined, subject: Subject) {
  const runId = subject.runIds.at(-1)!;
  if (runOf(reader) !== runId) return false;
  const { historyLength } = await stage.engine.describe({ workflowId: 'w', runId });
  return [`${runId}/${historyLength}`, String(historyLength)].includes(reader.lastId ?? lastId ?? '');
}

/** Reads until the connection is cut, or the reader has everything and chooses to leave. */
async function readSome(
  reader: StreamReader,
  lastId: string | undefined,
  subject: Subject,
  random: (below: number) => number,
) {
  let isClosed = false;
  void reader.closed.then(() => {
    isClosed = true;
  });
  while (!isClosed) {
    const before = reader.frames.length;
    if ((await isCaughtUp(reader, lastId, subject)) || random(8) === 0) {
      if (random(3) === 0) reader.hangUp();
      else await subject.advance();
    }
    await Promise.race([reader.until(({ frames }) => frames.length > before).catch(() => {}), reader.closed]);
  }
}

describe.each([
  { route: 'the latest run', chain: true, byQuery: false },
  { route: 'the latest run, by query', chain: true, byQuery: true },
  { route: 'a pinned run', chain: false, byQuery: false },
])('the stream of $route', ({ chain, byQuery }) => {
  it(`survives ${CUTS} cuts`, { timeout: 120_000 }, async () => {
    const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31));
    console.log(`SEED=${seed}`);
    const random = randomFrom(seed);
    stage = await Stage.open();
    const subject = new Subject(random, chain);
    await subject.begin();
    const path = chain ? '/workflow/w' : `/workflow/w/runs/${subject.runIds[0]}`;

    const received: string[] = [];
    let lastId: string | undefined;
    let status = 200;
    for (let cut = 0; status === 200; cut++) {
      expect(cut).toBeLessThan(CUTS + 1_000);
      if (cut === CUTS) await subject.end();
      const query = byQuery && lastId ? `&lastEventId=${encodeURIComponent(lastId)}` : '';
      const reader = stage.read(`${path}/history/stream?includePayloads=true${query}`, {
        headers: !byQuery && lastId ? { 'last-event-id': lastId } : {},
        bytes: cut < CUTS ? 1 + random(random(4) === 0 ? 100_000 : 3_000) : undefined,
      });
      status = await reader.status();
      if (cut < CUTS) await readSome(reader, lastId, subject, random);
      else await reader.closed;
      received.push(...reader.events.map((event) => `${runOf(reader)}/${event}`));
      lastId = reader.lastId ?? lastId;
    }
    expect(status).toBe(204);
    expect(received).toEqual(await subject.history());
    expect(new Set(received).size).toBe(received.length);
    expect(received.length).toBeGreaterThan(CUTS / 2);
    if (chain) expect(subject.runIds.length).toBeGreaterThan(2);
  });
});
