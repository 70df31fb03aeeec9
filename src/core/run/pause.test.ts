import { describe, expect, it } from 'vitest';
import { MAX_PAUSE_REASON, pauseArguments, pausedAfter, pausedOf, resumeArguments } from './pause.js';

const paused = (payload: string) => pausedAfter(undefined, 'perdure.pause', [payload]);
const said = (what: object) => paused(JSON.stringify(what));

describe('what a message of pausing says', () => {
  it('is taken as it was said', () => {
    const payload = pauseArguments({ reason: ' a look ', by: 'budget', at: 1_794_810_000_000 })[0]!;
    expect(paused(payload)).toEqual({ reason: 'a look', since: 1_794_810_000_000, by: 'budget' });
  });

  it('can be written down as a time, whoever has sent it', () => {
    for (const at of [9e15, 8.64e15 + 1, -5, 0, 1.5, Number.MAX_VALUE, 'x', null, undefined]) {
      expect(() => new Date(said({ at })!.since).toISOString(), String(at)).not.toThrow();
      expect(() => new Date(pausedOf({ since: at }).since).toISOString(), String(at)).not.toThrow();
    }
    expect(said({ at: 9e15 })).toMatchObject({ since: 0 });
    expect(said({ at: 8.64e15 })).toMatchObject({ since: 8.64e15 });
  });

  it.each(['', 'no JSON', 'null', '[]', '5', '"text"', '{}', '{"reason":{}}', '{"reason":""}'])(
    'is a pause without a reason when it is %j',
    (payload) => {
      expect(paused(payload)).toEqual({ reason: 'no reason given', since: 0, by: 'operator' });
    },
  );

  it('has no reason when that is made of spaces alone', () => {
    expect(paused(pauseArguments({ reason: ' \n', by: 'operator', at: 5 })[0]!)).toMatchObject({
      reason: 'no reason given',
    });
  });

  it('of resuming ends whatever pause there is, or only the one that it names', () => {
    const [operator, budget] = (['operator', 'budget'] as const).map((by) => pausedOf({ by }));
    const resumed = (before: typeof operator, ...input: string[]) =>
      pausedAfter(before, 'perdure.resume', input);
    expect(resumed(operator)).toBeUndefined();
    expect(resumed(operator, 'no JSON')).toBeUndefined();
    expect(resumed(budget, ...resumeArguments('budget'))).toBeUndefined();
    expect(resumed(operator, ...resumeArguments('budget'))).toEqual(operator);
    expect(resumed(undefined, ...resumeArguments('budget'))).toBeUndefined();
  });

  it('is cut where it is too long for a list', () => {
    const { reason } = said({ reason: 'r'.repeat(1_000_000) })!;
    expect(reason.length).toBeLessThan(MAX_PAUSE_REASON + 50);
    expect(reason).toContain('(1000000 characters)');
  });
});
