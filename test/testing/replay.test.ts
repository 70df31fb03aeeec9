/** `env.replay`: histories as the API gives them against the code that is here. */
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { HistoryEvent, TestEnvironment } from '../../src/testing/index.js';
import { createTestEnvironment } from '../../src/testing/index.js';
import { eventful, parent } from './workflows/family/workflow.js';
import { fetchPrice, note } from './workflows/stepping/steps.js';
import { cleaning, parallelNotes, price, twoNotes } from './workflows/stepping/workflow.js';
import { approval } from './workflows/waiting/workflow.js';

const workflows = fileURLToPath(new URL('workflows', import.meta.url));

let env: TestEnvironment;
beforeEach(async () => {
  env = await createTestEnvironment({ workflows });
  env.mock(note, () => 1);
});
afterEach(() => env.close());

const attributesOf = (event: HistoryEvent): Record<string, unknown> =>
  Object.entries(event).find(([key]) => key.endsWith('EventAttributes'))![1] as Record<string, unknown>;

const indexOf = (events: HistoryEvent[], name: string) =>
  events.findIndex(({ eventTypeName }) => eventTypeName === name);

describe('a history that the code here has made', () => {
  test.each<[string, () => Promise<{ history(): Promise<HistoryEvent[]> }>]>([
    ['of steps', () => env.start(twoNotes)],
    ['of an open run', () => env.start(approval, { name: 'x' })],
    [
      'of children and continue-as-new',
      async () => {
        const run = await env.start(parent, 1);
        await run.result();
        return run;
      },
    ],
    [
      'of a step that failed',
      async () => {
        const run = await env.start(price, 'tea');
        await run.result().catch(() => {});
        return run;
      },
    ],
    [
      'of messages',
      async () => {
        const run = await env.start(approval, { name: 'x', within: '3 days' });
        await run.update('rename', 'y');
        await run.signal('approve', { by: 'ada' });
        await run.result();
        return run;
      },
    ],
    [
      'of a cancellation',
      async () => {
        const run = await env.start(cleaning);
        await run.stop();
        return run;
      },
    ],
    [
      'of messages to others, patches, children that fail, and what was taken back',
      async () => {
        const waiting = await env.start(approval, { name: 'x' });
        const stopped = await env.start(cleaning);
        const ids = { waiting: waiting.workflowId, stopped: stopped.workflowId };
        const run = await env.start(eventful, ids);
        expect(await run.result()).toEqual([
          'new way',
          'E_FAR',
          'EXTERNAL_WORKFLOW_EXECUTION_NOT_FOUND',
          'ChildWorkflowError',
          '3600000',
        ]);
        expect(await waiting.result()).toMatchObject({ approvedBy: 'eventful' });
        return run;
      },
    ],
    [
      'of a reset',
      async () => {
        const run = await env.start(twoNotes);
        return run.reset({ stepName: 'note', occurrence: 1 });
      },
    ],
  ])('%s fits', async (_what, make) => {
    const history = JSON.parse(JSON.stringify(await (await make()).history())) as HistoryEvent[];
    expect(history.length).toBeGreaterThan(3);
    expect(await env.replay(history)).toEqual({ ok: true });
    expect(await env.replay({ workflow: {}, events: history, nextPageToken: null })).toEqual({ ok: true });
    const half = Math.floor(history.length / 2);
    const pages = [{ events: history.slice(0, half), nextPageToken: 'x' }, { events: history.slice(half) }];
    expect(await env.replay(pages)).toEqual({ ok: true });
  });
});

describe('a history that the code here does not fit', () => {
  test('of a step that had another name: the event, what it is and what the code asks for', async () => {
    const history = await (await env.start(twoNotes)).history();
    const at = indexOf(history, 'ACTIVITY_TASK_SCHEDULED');
    attributesOf(history[at]!).stepName = 'noted';
    expect(await env.replay(history)).toEqual({
      ok: false,
      eventId: String(at + 1),
      expected: 'ACTIVITY_TASK_SCHEDULED of step "noted" (number 1)',
      got: 'step "note" (number 1)',
      message: `event ${at + 1} of the history is ACTIVITY_TASK_SCHEDULED of step "noted" (number 1), but the code now asks for: step "note" (number 1)`,
    });
  });

  test('of code that asked for more, or for less', async () => {
    const four = await (await env.start(parallelNotes, ['a', 'b', 'c', 'd'])).history();
    const started = attributesOf(four[0]!);
    started.input = [['a', 'b', 'c']];
    expect(await env.replay(four)).toMatchObject({
      ok: false,
      expected: expect.stringContaining('of step "note" (number 4)'),
      got: null,
    });
    started.input = [['a', 'b', 'c', 'd', 'e']];
    expect(await env.replay(four)).toMatchObject({
      ok: false,
      got: expect.stringContaining('step "note" (number 5)'),
    });
  });

  test('of a workflow that is not here', async () => {
    const history = await (await env.start(twoNotes)).history();
    attributesOf(history[0]!).workflowType = { name: 'gone' };
    expect(await env.replay(history)).toMatchObject({
      ok: false,
      eventId: null,
      message: expect.stringContaining('has no workflow "gone"'),
    });
  });
});

describe('code that loops without end', () => {
  /** As if an open run of `twoNotes` were to go on with that code. */
  const historyFor = async (name: string) => {
    const history = await (await env.start(twoNotes)).history();
    attributesOf(history[0]!).workflowType = { name };
    return history;
  };

  test.each(['spinsForEver', 'awaitsForEver'])('does not fit (%s), and others are replayed', async (name) => {
    const endless = await historyFor(name);
    const good = await (await env.start(parallelNotes, ['a', 'b'])).history();
    const [first, second] = await Promise.all([env.replay(endless, { within: 500 }), env.replay(good)]);
    expect(first).toEqual({
      ok: false,
      eventId: null,
      expected: null,
      got: null,
      message: `the code of workflow "${name}" cannot be run: it did not come to rest within 0.5 s, and may loop without end ("within" gives it longer)`,
    });
    expect(second).toEqual({ ok: true });
  });

  test('has the time that is given, which has to be one', async () => {
    const history = await historyFor('twoNotes');
    expect(await env.replay(history, { within: '100 years' })).toEqual({ ok: true });
    await expect(env.replay(history, { within: 'soon' })).rejects.toThrow('within "soon" is not a duration');
    await expect(env.replay(history, { withn: 1 } as never)).rejects.toThrow('did you mean "within"');
  });
});

describe('what is no history is refused', () => {
  test.each<[string, (history: HistoryEvent[]) => unknown, string]>([
    ['nothing', () => undefined, 'this is no history'],
    ['a text', () => 'history', 'this is no history'],
    ['no events', () => [], 'has no events'],
    ['something else in a list', () => [5], 'entry 1 of the history is no event'],
    ['a part of it', (history) => history.slice(3), 'begins with event 4: give all of it'],
    ['a gap', (history) => history.filter((_, at) => at !== 4), 'event 6 of the history follows event 4'],
    ['one page of several', (events) => ({ events, nextPageToken: 'x' }), 'not the last one'],
    ['pages without the last one', (events) => [{ events, nextPageToken: 'x' }], 'not the last one'],
    [
      'an event that is named like what every object has',
      (history) => history.map((event) => ({ ...event, eventTypeName: 'toString' })),
      'has no eventTypeName',
    ],
    [
      'no payloads',
      (history) => {
        delete attributesOf(history[0]!).input;
        return history;
      },
      'includePayloads=true',
    ],
    [
      'an unknown event',
      (history) => history.map((event) => ({ ...event, eventTypeName: 'PARTY' })),
      'has no eventTypeName',
    ],
  ])('%s', async (_what, change, message) => {
    const history = await (await env.start(twoNotes)).history();
    const given = change(JSON.parse(JSON.stringify(history)) as HistoryEvent[]);
    await expect(env.replay(given)).rejects.toThrow(message);
  });
});

test('what no history can hold is refused at once, and leaves nothing behind that fails later', async () => {
  const history = await (await env.start(twoNotes)).history();
  attributesOf(history[0]!).by = () => 'somebody';
  await expect(env.replay(history, { within: 50 })).rejects.toThrow('could not be cloned');
  // Nobody would handle it: the test runner itself tells of what is rejected meanwhile.
  await delay(100);
});

test('a failure whose details are none is read without them', async () => {
  env.mock(fetchPrice, () => {
    throw Object.assign(new Error('no tea'), { nonRetryable: true });
  });
  const run = await env.start(price, 'tea');
  await run.result().catch(() => {});
  const history = await run.history();
  const failed = history.find(({ eventTypeName }) => eventTypeName === 'ACTIVITY_TASK_FAILED')!;
  attributesOf(failed).details = [null];
  expect(await env.replay(history)).toEqual({ ok: true });
});

test('an error that a workflow looks into is the same at a replay', async () => {
  env.mock(fetchPrice, () => {
    throw Object.assign(new RangeError('no tea'), { code: 'E_TEA', nonRetryable: true });
  });
  const run = await env.start('choosy');
  expect(await run.result()).toBe('asked for coffee');
  expect(await env.replay(await run.history())).toEqual({ ok: true });
});
