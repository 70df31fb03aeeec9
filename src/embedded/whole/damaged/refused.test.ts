/** Who is refused on account of what turns out not to be on disk. */
import { expect, it } from 'vitest';
import { CATALOG, HandClock } from '../../scripted-worker.fixture.js';
import { engine, logs, reopen, start } from './damaged-folder.fixture.js';

/** What an instant between two milliseconds does: no column of the database takes it, so the run cannot be saved. */
const BETWEEN = 0.5;
const nameOf = (answer: Promise<unknown>) =>
  answer.then(
    () => 'taken',
    ({ name }: Error) => name,
  );

it('is told of the damage when the end of a run could not be saved', async () => {
  const clock = new HandClock();
  await reopen({ clock, log: logs().log });
  const run = await start('a');
  clock.ms += BETWEEN;
  const told = [engine.terminate(run, 'over'), engine.signal(run, 'late', [])].map(nameOf);
  clock.ms += BETWEEN;
  expect(await Promise.all(told)).toEqual(['DataCorruptionError', 'DataCorruptionError']);
});

it('is told of the damage when what was waited with could not be saved', async () => {
  const clock = new HandClock();
  await reopen({ clock, log: logs().log });
  const run = await start('a');
  const updated = nameOf(engine.update(run, 'u', []));
  engine.flush();
  clock.ms += BETWEEN;
  const ended = nameOf(engine.terminate(run, 'over'));
  clock.ms += BETWEEN;
  expect(await Promise.all([updated, ended])).toEqual(['DataCorruptionError', 'DataCorruptionError']);
});

it('is told of the damage when the start before could not be saved, whose id and key are free then', async () => {
  const clock = new HandClock();
  await reopen({ clock, log: logs().log });
  const request = { workflowType: 'flow', catalog: CATALOG, input: [] };
  const keyed = (workflowId: string, fingerprint: string) =>
    engine.start({ ...request, workflowId, idempotency: { key: 'k', fingerprint } });
  clock.ms += BETWEEN;
  const told = [keyed('a', 'one'), start('a'), keyed('b', 'another')].map(nameOf);
  clock.ms += BETWEEN;
  expect(new Set(await Promise.all(told))).toEqual(new Set(['DataCorruptionError']));
  expect(await nameOf(start('a'))).toBe('taken');
  expect(await nameOf(keyed('b', 'another'))).toBe('taken');
});
