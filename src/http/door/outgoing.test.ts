import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Outgoing } from './outgoing.js';

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
afterEach(() => void vi.useRealTimers());

class Answer extends EventEmitter {
  destroyed = false;
  destroy(): void {
    this.destroyed = true;
    this.emit('close');
  }
}
const answerOf = (outgoing: Outgoing, bytes: number): Answer => {
  const answer = new Answer();
  outgoing.add(answer as unknown as ServerResponse, bytes);
  return answer;
};

it('an answer that has been read makes room', () => {
  const outgoing = new Outgoing(100_000);
  const answer = answerOf(outgoing, 150_000);
  expect(outgoing.refusal()?.name).toBe('TooManyRequestsError');
  answer.emit('close');
  expect([outgoing.bytes, outgoing.refusal()]).toEqual([0, undefined]);
});

it('who has had the time to read and has not makes room for others, and no more of them than it takes', () => {
  const outgoing = new Outgoing(100_000);
  const answers = [answerOf(outgoing, 60_000), answerOf(outgoing, 60_000)];
  vi.advanceTimersByTime(1_900);
  outgoing.refusal();
  expect(answers.map(({ destroyed }) => destroyed)).toEqual([false, false]);
  vi.advanceTimersByTime(200);
  expect(outgoing.refusal()?.name).toBe('TooManyRequestsError');
  expect(answers.map(({ destroyed }) => destroyed)).toEqual([true, false]);
  expect([outgoing.bytes, outgoing.refusal()]).toEqual([60_000, undefined]);
});

it('small answers, and those to nobody, are not counted', () => {
  const outgoing = new Outgoing(0);
  answerOf(outgoing, 16 * 1024);
  const gone = Object.assign(new Answer(), { destroyed: true });
  outgoing.add(gone as unknown as ServerResponse, 1_000_000);
  expect(outgoing.refusal()).toBeUndefined();
});
