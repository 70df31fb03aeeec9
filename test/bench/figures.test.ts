/** What the benchmark makes of its samples: statistics, tables and the picture. */
import { describe, expect, it } from 'vitest';
import { chart, limit, sideBySide, statistics, table } from './modules.js';

describe('statistics', () => {
  it('take the middle, and the mean of the two in the middle', () => {
    expect(statistics.median([9, 1, 5])).toBe(5);
    expect(statistics.median([4, 1, 3, 2])).toBe(2.5);
    expect(statistics.median([])).toBeNaN();
  });

  it('take the smallest value that the share is not above', () => {
    const thousand = Array.from({ length: 1_000 }, (_, i) => i + 1);
    expect(statistics.quantile(thousand, 0.5)).toBe(500);
    expect(statistics.quantile(thousand, 0.999)).toBe(999);
    expect(statistics.quantile([7], 0.999)).toBe(7);
    expect(statistics.latencies([3, 1, 2])).toEqual({ p50Ms: 2, p99Ms: 3, p999Ms: 3, maxMs: 3 });
  });

  it('say how far rounds lie apart', () => {
    expect(statistics.spread([90, 100, 120])).toBeCloseTo(0.3);
  });

  it('compare round by round, and only rounds that have both', () => {
    const ratios = statistics.ratios(
      new Map([
        [1, 10],
        [2, 30],
        [3, 99],
      ]),
      new Map([
        [1, 5],
        [2, 10],
      ]),
    );
    expect(ratios).toEqual({ median: 2.5, least: 2, most: 3, rounds: 2 });
  });
});

describe('tables', () => {
  const small = {
    head: ['system', 'runs/s'],
    rows: [['perdure', '3,171'] as string[], ['a|b', '–'] as string[]],
  };

  it('line up in a terminal', () => {
    expect(table.textTable({ ...small, group: 1 })).toBe(
      ['system   runs/s', '───────  ──────', 'perdure   3,171', '', '    a|b       –']
        .join('\n')
        .replace('system   runs/s', ' system  runs/s'),
    );
  });

  it('have figures to the right in Markdown, and no bar that would end a cell', () => {
    expect(table.markdownTable(small)).toBe(
      ['| system  | runs/s |', '| ------- | -----: |', '| perdure |  3,171 |', '| a\\|b    |      – |'].join(
        '\n',
      ),
    );
  });

  it('show what was not measured as a dash and never as zero', () => {
    expect(table.figure(Number.NaN)).toBe('–');
    expect([0.0471, 1.834, 38.04, 3171].map(table.figure)).toEqual(['0.047', '1.83', '38.0', '3,171']);
    expect(table.ratioText({ median: 4.4, least: 4.31, most: 4.52, rounds: 3 })).toBe('4.40 (4.31 to 4.52)');
    expect(table.ratioText({ median: Number.NaN, least: Infinity, most: -Infinity, rounds: 0 })).toBe('–');
  });
});

describe('the comparison', () => {
  const cells = [{ cell: 'c', labels: [1] }];
  const systems = [{ name: 'perdure' }, { name: 'peer' }];
  const sample = (system: string, round: number, perSecond: number, more = {}) => ({
    cell: 'c',
    system,
    round,
    perSecond,
    wrongAnswers: 0,
    unanswered: 0,
    ...more,
  });

  it('has the median of the rounds, and the ratio of each round', () => {
    const samples = [
      sample('perdure', 1, 100),
      sample('peer', 1, 10),
      sample('perdure', 2, 300),
      sample('peer', 2, 100),
      sample('perdure', 3, 200),
      sample('peer', 3, 50),
    ];
    const [ours, theirs] = sideBySide.compare({ cells, systems, samples });
    expect([ours!.perSecond, ours!.spread, theirs!.perSecond]).toEqual([200, 1, 50]);
    expect(theirs!.perdureTimes).toEqual({ median: 4, least: 3, most: 10, rounds: 3 });
  });

  it('leaves out what was not measured', () => {
    expect(sideBySide.compare({ cells, systems, samples: [sample('peer', 1, 1)] })).toHaveLength(1);
  });

  it('is not sound with a wrong answer, a missing one, or a system that broke off', () => {
    const unsound = (more: object, broken: string[] = []) =>
      sideBySide
        .soundness({ systems, samples: [sample('peer', 1, 1, more)], broken })
        .filter(({ met }) => !met)
        .map(({ what }) => what);
    expect(unsound({})).toEqual([]);
    expect(unsound({ wrongAnswers: 1, firstWrongAnswer: 'HTTP/1.1 500' })[0]).toContain('HTTP/1.1 500');
    expect(unsound({ unanswered: 2 })[0]).toContain('2 calls without one');
    expect(unsound({}, ['peer broke off in round 1'])).toEqual(['peer broke off in round 1']);
  });

  it('leaves out by name where a peer is past its limit, and excuses neither perdure nor a wrong answer', () => {
    const samples = [
      sample('peer', 1, 5),
      sample('peer', 2, 0, { unanswered: 1_200 }),
      sample('peer', 3, 4, { unanswered: 80 }),
      sample('other', 1, 7, { wrongAnswers: 1, unanswered: 1 }),
      sample('perdure', 1, 9, { unanswered: 2 }),
    ];
    const { sound, overloaded } = sideBySide.withoutOverloaded(samples);
    expect(sound.map(({ system }) => system)).toEqual(['other', 'perdure']);
    expect(overloaded).toEqual([expect.stringContaining('1,280'), expect.stringContaining('other: c')]);
    expect(overloaded[0]).toContain('peer: c');
  });

  it('says where the generator was the limit', () => {
    const busy = (perSecond: number, generatorBusy: number) =>
      limit.limitedByGenerator([sample('peer', 1, perSecond, { generatorBusy })], 40_000).length;
    expect([busy(19_000, 0.5), busy(21_000, 0.5), busy(100, 0.95)]).toEqual([0, 1, 1]);
  });
});

describe('the picture', () => {
  const picture = chart.barChart({
    title: 'Runs <a second>',
    subtitle: '"quoted"',
    note: 'when & where',
    groups: [
      {
        name: 'Three steps',
        bars: [
          { label: 'perdure', value: 400, text: '400/s', isOurs: true },
          { label: 'peer', value: 100, text: '100/s' },
          { label: 'broken', value: Number.NaN, text: '–' },
        ],
      },
    ],
  });

  it('has bars in proportion', () => {
    const widths = [...picture.matchAll(/class="(?:ours|other)"[^>]* width="([\d.]+)"/g)].map(([, w]) =>
      Number(w),
    );
    expect(widths[0]! / widths[1]!).toBeCloseTo(4);
    expect(widths).toHaveLength(3);
    expect(picture).not.toContain('NaN');
  });

  it('is text as it is, whatever is in it', () => {
    expect(picture).toContain('Runs &#60;a second&#62;');
    expect(picture).toContain('when &#38; where');
    // Every element that is opened is closed: nothing of a text has become one.
    const opened = [...picture.matchAll(/<(\w+)(?![^>]*\/>)[^>]*>/g)].map(([, name]) => name).sort();
    const closed = [...picture.matchAll(/<\/(\w+)>/g)].map(([, name]) => name).sort();
    expect(opened).toEqual(closed);
  });

  it('can be read in the dark', () => {
    const dark = /prefers-color-scheme: dark\) \{(.*?)\n {2}\}/s.exec(picture)![1]!;
    for (const part of ['text', '.faint', '.ground', '.ours', '.other'])
      expect(dark).toContain(`${part} { fill:`);
  });
});
