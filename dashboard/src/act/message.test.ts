import type { WhyReason } from 'perdure/client';
import { expect, it } from 'vitest';
import { awaitedBy, messagesFor, messageTitle } from './message.js';

const declared = {
  signals: [
    { name: 'remind' },
    { name: 'approve', description: 'Lets it go', inputSchema: { type: 'object' } },
  ],
  queries: [{ name: 'status' }],
  updates: [{ name: 'add' }],
};
const titles = (...given: Parameters<typeof messagesFor>) => messagesFor(...given).map(messageTitle);

it('offers what the definition declares, and an answer to a callback', () => {
  expect(titles(declared, true)).toEqual([
    ...['Signal remind', 'Signal approve', 'Update add', 'Query status', 'Answer a callback'],
  ]);
});

it('offers questions only once a run is closed', () =>
  expect(titles(declared, false)).toEqual(['Query status']));

it('puts first what the run waits for, and adds what it has registered without declaring it', () => {
  expect(titles(declared, true, { signals: ['approve', 'hidden'], updates: ['add', 'more'] })).toEqual([
    ...['Signal approve', 'Signal hidden', 'Update add', 'Update more', 'Signal remind', 'Query status'],
    'Answer a callback',
  ]);
});

it('lets a name be typed where none is declared, since then any is taken', () => {
  expect(titles(undefined, true)).toEqual(['Another signal', 'Answer a callback']);
  expect(titles({ ...declared, signals: [] }, true)).toContain('Another signal');
});

it('carries schema and description', () => {
  const [, approve] = messagesFor(declared, true);
  expect(approve).toEqual({
    ...{ kind: 'signal', name: 'approve', description: 'Lets it go', schema: { type: 'object' } },
    isAwaited: false,
  });
});

const said = { message: '', action: null };
const firesAt = '2026-01-16T09:30:00.000Z';

it.each<[string, WhyReason[], ReturnType<typeof awaitedBy>]>([
  [
    'a message',
    [{ code: 'message', ...said, signals: ['go'], updates: ['add'] }],
    { signals: ['go'], updates: ['add'] },
  ],
  [
    'a message until a time',
    [
      { code: 'timer', ...said, firesAt, signals: ['go'], updates: [] },
      { code: 'timer', ...said, firesAt },
    ],
    { signals: ['go'], updates: [] },
  ],
  ['a time and nothing else that is known', [{ code: 'timer', ...said, firesAt }], undefined],
  ['a turn', [{ code: 'turnQueued', ...said, since: firesAt }], undefined],
])('knows what a run takes that waits for %s', (_what, reasons, awaited) => {
  expect(awaitedBy(reasons)).toEqual(awaited);
});

it('offers an answer first to a run that waits for a callback, and not the signal that carries it', () => {
  const awaited = { signals: ['perdure.callback', 'resume'], updates: [] };
  expect(titles(declared, true, awaited)).toEqual([
    ...['Answer a callback', 'Signal remind', 'Signal approve', 'Update add', 'Query status'],
  ]);
});
