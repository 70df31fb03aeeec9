/** What is measured again because the host took the machine away, and what still counts of it. */
import { expect, it } from 'vitest';
import { stolen } from './modules.js';

/** Measures as often as it is asked, while so much is taken each time. */
async function measured(shares: number[], answers: object[] = []) {
  let made = 0;
  let waits = 0;
  const result = await stolen.leastDisturbed(
    async () => ({ wrongAnswers: 0, unanswered: 0, ...answers[made], number: ++made }),
    4,
    () => () => shares[made - 1]!,
    async () => void waits++,
  );
  return { made, waits, result };
}

it('is measured once where little was taken, and no more often than it may be', async () => {
  expect((await measured([0.05])).made).toBe(1);
  expect((await measured([0.5, 0.01])).made).toBe(2);
  expect((await measured([0.5, 0.4, 0.2, 0.3, 0])).made).toBe(4);
});

it('waits for the host before it is measured again, and not before', async () => {
  expect((await measured([0.05])).waits).toBe(0);
  expect((await measured([0.5, 0.4, 0])).waits).toBe(2);
});

it('counts the one that least was taken from', async () => {
  expect((await measured([0.5, 0.4, 0.2, 0.3])).result).toMatchObject({ number: 3, stolen: 0.2 });
});

it('forgets no wrong answer and none that is missing', async () => {
  const { result } = await measured([0.5, 0], [{ wrongAnswers: 2, unanswered: 1, firstWrongAnswer: 'no' }]);
  expect(result).toMatchObject({ number: 2, wrongAnswers: 2, unanswered: 1, firstWrongAnswer: 'no' });
});
