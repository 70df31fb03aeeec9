import { describe, expect, it } from 'vitest';
import type { HistoryEvent } from '../../../core/history/event.js';
import { pauseArguments } from '../../../core/run/pause.js';
import { Pausing } from './pausing.js';

const signal = (signalName: string, input: string[] = []) =>
  ({ type: 'WORKFLOW_EXECUTION_SIGNALED', attributes: { signalName, input } }) as HistoryEvent;
const pause = signal('perdure.pause', pauseArguments({ reason: 'r', by: 'operator', at: 5 }));
const resume = signal('perdure.resume');
const cancel = { type: 'WORKFLOW_EXECUTION_CANCEL_REQUESTED', attributes: { cause: '' } } as HistoryEvent;
const fired = (timerId: string) => ({ type: 'TIMER_FIRED', attributes: { timerId } }) as HistoryEvent;
const turn = (...incoming: HistoryEvent[]) => ({ incoming, reseed: undefined as string | undefined });

describe('what a paused run does not get to see yet', () => {
  it('is delivered as a whole with the turn that ends the pause, without the messages of pausing', () => {
    const pausing = new Pausing();
    expect(pausing.deliverable(turn(fired('1')))).toEqual(turn(fired('1')));
    expect(pausing.deliverable(turn(fired('2'), pause, signal('a')))).toBeUndefined();
    expect(pausing.paused).toEqual({ reason: 'r', by: 'operator', since: 5 });
    expect(pausing.deliverable(turn(fired('3')))).toBeUndefined();
    expect(pausing.deliverable(turn(signal('b'), resume))).toEqual(
      turn(fired('2'), signal('a'), fired('3'), signal('b')),
    );
    expect(pausing.paused).toBeUndefined();
    expect(pausing.deliverable(turn(fired('4')))).toEqual(turn(fired('4')));
  });

  it('is nothing when a pause begins and ends within one turn', () => {
    expect(new Pausing().deliverable(turn(pause, fired('1'), resume))).toEqual(turn(fired('1')));
  });

  it.each([
    ['before', [cancel, pause]],
    ['after', [pause, cancel]],
  ])('is everything when a request to stop came %s the pause in one turn', (_, incoming) => {
    const pausing = new Pausing();
    expect(pausing.deliverable(turn(...incoming))).toEqual(turn(cancel));
    expect(pausing.deliverable(turn(pause))).toEqual(turn());
    expect(pausing.paused).toBeUndefined();
  });

  it('is delivered with the seed of a reset that came within the pause', () => {
    const pausing = new Pausing();
    pausing.deliverable(turn(pause, fired('1')));
    expect(pausing.deliverable({ ...turn(), reseed: 'new' })).toBeUndefined();
    expect(pausing.deliverable(turn(resume))).toEqual({ ...turn(fired('1')), reseed: 'new' });
  });

  it.each([[[]], [['5']], [['null']], [['{']], [['{"reason":7,"by":"me","at":-1}']]])(
    'is held back by whatever a pause carries: %j',
    (input) => {
      const pausing = new Pausing();
      expect(pausing.deliverable(turn(signal('perdure.pause', input)))).toBeUndefined();
      expect(pausing.paused).toEqual({ reason: 'no reason given', by: 'operator', since: 0 });
    },
  );
});
