/** Loops over what comes in pages and batches: a signal and a time end them as they end a single call. */
import { describe, expect, it } from 'vitest';
import { ClientStage, RUN, rejection } from './client-stage.fixture.js';
import { type CallOptions, CallTimeoutError, UnexpectedAnswerError } from './index.js';
import { type Answerer, json, stream } from './scripted-server.fixture.js';

const stage = new ClientStage();
const { client } = stage;

const NAMES = ['WORKFLOW_EXECUTION_STARTED', 'TIMER_STARTED', 'WORKFLOW_EXECUTION_COMPLETED'];
const events = NAMES.map((eventTypeName, at) => ({ eventId: String(at + 1), eventTypeName }));
const batch = `id: 3\nevent: history\ndata: ${JSON.stringify(events)}\n\n`;

const LOOPS: [string, Answerer, (options: CallOptions) => AsyncIterable<unknown>][] = [
  [
    'runs',
    json(200, { runs: [{ runId: '1' }, { runId: '2' }, { runId: '3' }], count: 3, nextCursor: null }),
    (options) => client().runs(options),
  ],
  [
    'a history',
    json(200, { workflow: null, events, runId: RUN, nextPageToken: null }),
    (options) => client().handle('w', RUN).history(options),
  ],
  [
    'a history as it grows',
    stream([batch]),
    (options) =>
      client()
        .handle('w', RUN)
        .history({ ...options, follow: true }),
  ],
];

describe.each(LOOPS)('a loop over %s', (_what, answer, loop) => {
  it('ends at once with its signal, whatever is left of what has come', async () => {
    stage.server.script(answer);
    const controller = new AbortController();
    const reason = new Error('enough');
    let seen = 0;
    const looping = (async () => {
      for await (const _each of loop({ signal: controller.signal })) {
        seen++;
        controller.abort(reason);
      }
    })();
    await expect(looping).rejects.toBe(reason);
    expect(seen).toBe(1);
  });

  it('takes no longer than it was given, over all that comes', async () => {
    stage.server.script(answer);
    const looping = (async () => {
      for await (const _each of loop({ timeoutMs: 100 })) await new Promise((go) => setTimeout(go, 60));
    })();
    await rejection(looping, CallTimeoutError);
  });
});

describe('pages', () => {
  it.each<[string, Answerer, () => AsyncIterable<unknown>]>([
    ['runs', json(200, { runs: [{ runId: '1' }], count: 1, nextCursor: 'c' }), () => client().runs()],
    [
      'a history',
      json(200, { workflow: null, events, runId: RUN, nextPageToken: 'c' }),
      () => client().handle('w', RUN).history(),
    ],
  ])('of %s do not go on without end where one leads to itself', async (_what, answer, loop) => {
    stage.server.script(answer);
    let seen = 0;
    const looping = (async () => {
      for await (const _each of loop()) if (++seen > 100) return;
    })();
    await rejection(looping, UnexpectedAnswerError);
  });
});

describe('a backup', () => {
  it('takes no longer than it was given, over all of its pieces', async () => {
    stage.server.script((response) => {
      response.writeHead(200, { 'content-type': 'application/vnd.sqlite3' });
      const trickle = setInterval(() => response.write('SQLite'), 20);
      response.on('close', () => clearInterval(trickle));
      setTimeout(() => response.end(), 2_000).unref();
    });
    const { read } = await client().backup({ timeoutMs: 200 });
    const reading = (async () => {
      for await (const _piece of read());
    })();
    await rejection(reading, CallTimeoutError);
  });
});
