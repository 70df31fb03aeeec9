import { describe, expect, it } from 'vitest';
import { type Stretch, tickTexts, timeScale } from './time-scale.js';

const happened = (instants: number[], work: Stretch[] = []) => ({ instants, work });

describe('the axis of a run', () => {
  it('is even when nothing is long', () => {
    const scale = timeScale(0, 100, happened([10, 20, 35, 50, 60, 75, 90]), true);
    expect(scale.gaps).toEqual([]);
    expect(scale.at(25)).toBe(0.25);
    expect(scale.instant(0.25)).toBe(25);
  });

  it('draws a long wait short, and keeps what is around it apart', () => {
    const scale = timeScale(0, 86_400_000, happened([100, 200, 300, 86_399_900]), true);
    expect(scale.gaps).toEqual([{ from: 300, to: 86_399_900 }]);
    expect(scale.at(300)).toBeGreaterThan(0.4);
    expect(scale.at(86_399_900)).toBeLessThan(0.9);
  });

  it('draws a step that runs for long as long as it ran, beside a wait that is drawn short', () => {
    const step = { from: 10_000, to: 90_000 };
    expect(timeScale(0, 100_000, happened([step.from, step.to], [step]), true).gaps).toEqual([]);
    const scale = timeScale(0, 300_000, happened([step.from, step.to, 299_000], [step]), true);
    expect(scale.gaps).toEqual([{ from: 90_000, to: 299_000 }]);
    expect(scale.at(90_000) - scale.at(10_000)).toBeGreaterThan(0.6);
  });

  it('draws no wait short while a step runs in a part of it, nor where most of the run is work', () => {
    const begins = { from: 60_000, to: 100_000 };
    expect(timeScale(0, 100_000, happened([1_000], [begins]), true).gaps).toEqual([]);
    const step = { from: 0, to: 60_000 };
    expect(timeScale(0, 100_000, happened([step.from, step.to], [step]), true).gaps).toEqual([]);
  });

  it('has something to see down to a millisecond, and no further', () => {
    expect(timeScale(0, 4, happened([]), false).closest).toBe(0.25);
    const waited = timeScale(0, 86_400_000, happened([100, 86_399_900]), true);
    expect(waited.at(1)).toBeCloseTo(waited.closest);
    expect(timeScale(5, 5, happened([]), false).closest).toBe(1);
  });

  it('stays as it is when it is told to', () => {
    expect(timeScale(0, 1_000, happened([1]), false).at(500)).toBe(0.5);
  });

  it('finds every instant where it has put it', () => {
    const scale = timeScale(1_000, 500_000, happened([1_010, 1_500, 200_000, 200_100, 499_000]), true);
    expect(scale.gaps.length).toBe(2);
    for (const instant of [1_000, 1_200, 5_000, 199_999, 200_050, 300_000, 499_500, 500_000]) {
      expect(scale.instant(scale.at(instant))).toBeCloseTo(instant, 3);
    }
  });

  it('has a length even for a run of no time', () => {
    const scale = timeScale(5, 5, happened([]), true);
    expect(scale.at(5)).toBe(0);
    expect(Number.isFinite(scale.instant(1))).toBe(true);
  });
});

describe('the ticks of an axis', () => {
  const DAY = 86_400_000;
  it.each([
    [
      [0, 0.6, 1.2, 1.8, 2.4],
      ['0 ms', '0.6 ms', '1.2 ms', '1.8 ms', '2.4 ms'],
    ],
    [
      [0, 200, 400, 600, 800],
      ['0 ms', '200 ms', '400 ms', '600 ms', '800 ms'],
    ],
    [
      [0, 4.2 * DAY, 8.4 * DAY],
      ['0 ms', '4 d 4 h', '8 d 9 h'],
    ],
    [
      [9 * DAY, 9 * DAY + 25, 9 * DAY + 50],
      ['9 d', '+ 25 ms', '+ 50 ms'],
    ],
    [
      [12.1, 12.2, 12.3],
      ['12 ms', '+ 0.1 ms', '+ 0.2 ms'],
    ],
  ])('%j', (times, texts) => expect(tickTexts(times)).toEqual(texts));
});
