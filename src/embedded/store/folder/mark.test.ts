import {
  chownSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { lostCommits } from './lost-commits.js';
import { Mark } from './mark.js';

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'perdure-mark-'));
  file = join(folder, 'perdure.mark');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const tip = (seq: number) => ({
  seq,
  hash: `hash-of-${seq}`.padEnd(16, '_').slice(0, 16),
  at: 1_800_000_000_000 + seq,
});
const runId = (n: number) => `01900000-0000-7000-8000-${String(n).padStart(12, '0')}`;

it.runIf(process.getuid?.() === 0)(
  'belongs to whoever the folder belongs to, also when root makes it',
  () => {
    chownSync(folder, 65_534, 65_533);
    Mark.create(file, tip(7));
    expect(statSync(file)).toMatchObject({ uid: 65_534, gid: 65_533 });
  },
);

it('is never made through a link that somebody has put in its way', () => {
  const another = join(folder, 'another');
  writeFileSync(another, 'of another');
  symlinkSync(another, `${file}.new`);
  Mark.create(file, tip(7));
  expect(readFileSync(another, 'utf8')).toBe('of another');
  expect(lstatSync(file).isFile()).toBe(true);
});

it('remembers the last commits, with the first of their runs', () => {
  Mark.create(file, tip(7));
  const mark = new Mark(file);
  for (let seq = 8; seq <= 10_000; seq++) {
    const runs = Array.from({ length: seq % 20 }, (_, index) => runId(seq + index));
    expect(mark.set(tip(seq), runs.length, runs)).toBe(true);
  }
  mark.close();
  const commits = Mark.read(file)!;
  expect(commits.map(({ seq }) => seq)).toEqual(
    Array.from({ length: 4_096 }, (_, index) => 10_000 - 4_095 + index),
  );
  expect(commits.at(-2)).toEqual({
    ...tip(9_999),
    runCount: 19,
    runIds: Array.from({ length: 11 }, (_, index) => runId(9_999 + index)),
  });
  expect(lostCommits(tip(9_998), commits)).toMatchObject({
    count: 2,
    hasMoreRuns: true,
    runIds: { length: 11 },
  });
  expect(lostCommits(tip(10_000), commits)).toBeUndefined();
  expect(lostCommits(tip(10_001), commits)).toBeUndefined();
  expect(lostCommits({ ...tip(10_000), hash: 'another' }, commits)).toMatchObject({ count: 0 });
});

it('loses no more than a slot that is torn or changed', () => {
  Mark.create(file, tip(1));
  const mark = new Mark(file);
  for (let seq = 2; seq <= 5; seq++) mark.set(tip(seq), 1, [runId(seq)]);
  mark.close();
  const bytes = readFileSync(file);
  const at = bytes.indexOf('hash-of-4');
  for (const damage of [(copy: Buffer) => copy.fill(0, at), (copy: Buffer) => copy.write('X', at)]) {
    const copy = Buffer.from(bytes);
    damage(copy.subarray(0, at + 300));
    writeFileSync(file, copy);
    expect(Mark.read(file)!.map(({ seq }) => seq)).toEqual([1, 2, 3, 5]);
  }
  writeFileSync(file, 'nothing of the kind');
  expect(Mark.read(file)).toEqual([]);
  rmSync(file);
  expect(Mark.read(file)).toBeUndefined();
});

it('is made whole or not at all', () => {
  expect(() => Mark.create(join(folder, 'no such folder', 'perdure.mark'), tip(1))).toThrow();
  Mark.create(file, tip(1));
  expect(readdirSync(folder)).toEqual(['perdure.mark']);
});
