/** That docs/performance.md shows what is published, and how results get there. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type DocumentFiles, documents, SCENARIOS, SYSTEMS } from './modules.js';

const text = (path: string) => readFileSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)), 'utf8');
const names = (of: { name: string }[]) => of.map(({ name }) => name).sort();

let folder: string;
let files: DocumentFiles;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'perdure-bench-documents-'));
  files = {
    published: join(folder, 'published.json'),
    page: join(folder, 'page.md'),
    picture: join(folder, 'picture.svg'),
  };
  for (const name of ['published', 'page', 'picture'] as const) {
    writeFileSync(files[name], readFileSync(documents.FILES[name], 'utf8'));
  }
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const machine = {
  processors: 2,
  processor: 'a processor',
  memoryBytes: 2 ** 34,
  system: 'linux',
  node: 'v20',
};
const tables = [{ head: ['runs/s'], rows: [['12,345']] }];
const write = (
  sections: Parameters<typeof documents.writeDocuments>[0]['sections'],
  isForShowing: boolean | undefined = true,
) => documents.writeDocuments({ at: '2027-01-02T03:04:05Z', machine, isForShowing, sections }, files);

describe('the page', () => {
  it('is what is published', () => {
    documents.renderDocuments(files);
    expect(text('docs/performance.md')).toBe(readFileSync(files.page, 'utf8'));
    expect(text('docs/performance.svg')).toBe(readFileSync(files.picture, 'utf8'));
  });

  it('has a place for every scenario, and the benchmark describes each and every system', () => {
    const places = [...text('docs/performance.md').matchAll(/^<!-- bench:([\w-]+) -->$/gm)].map(
      ([, name]) => name,
    );
    expect(places.sort()).toEqual(names(SCENARIOS));
    const described = [...text('bench/README.md').matchAll(/^\| `([a-z-]+)` +\|/gm)].map(([, name]) => name!);
    expect(described.filter((name) => !name.startsWith('--')).sort()).toEqual(
      [...names(SCENARIOS), ...names(SYSTEMS)].sort(),
    );
  });

  it('is shown by the README', () => {
    expect(text('README.md')).toContain('](docs/performance.svg)');
    expect(text('README.md')).toContain('](docs/performance.md)');
  });
});

describe('results', () => {
  it('replace the section that was measured, with when and where, and no other', () => {
    const before = readFileSync(files.page, 'utf8');
    expect(write({ replay: { title: 'Replay', tables, notes: ['a note'] } })).toEqual(['replay']);
    const after = readFileSync(files.page, 'utf8');
    const part = (page: string, name: string) => page.split(`bench:${name} -->`)[1]!;
    expect(part(after, 'replay')).toContain('| 12,345 |');
    expect(part(after, 'replay')).toContain('- a note');
    expect(part(after, 'replay')).toContain('_2027-01-02: 2 × a processor, 16 GB, linux, Node v20_');
    for (const { name } of SCENARIOS.filter((scenario) => scenario.name !== 'replay')) {
      expect(part(after, name)).toBe(part(before, name));
    }
  });

  it('are not shown when something was wrong with them', () => {
    const before = readFileSync(files.page, 'utf8');
    expect(
      write({ replay: { title: 'Replay' }, timers: { title: 'Timers', tables, isUnsound: true } }),
    ).toEqual([]);
    expect(readFileSync(files.page, 'utf8')).toBe(before);
  });

  it('are not shown when they are of a quick run, or of some of the systems', () => {
    const before = readFileSync(files.page, 'utf8');
    expect(() => write({ replay: { title: 'Replay', tables } }, false)).toThrow('not for showing');
    expect(readFileSync(files.page, 'utf8')).toBe(before);
  });

  it('make the same page twice', () => {
    write({ replay: { title: 'Replay', tables } });
    const once = readFileSync(files.page, 'utf8');
    documents.renderDocuments(files);
    expect(readFileSync(files.page, 'utf8')).toBe(once);
  });

  it('change the picture with what it shows', () => {
    const row = { cell: '3 steps, 128 connections', system: 'perdure', perSecond: 98_765 };
    write({ sync: { title: 'Sync', tables, rows: [row] } });
    expect(readFileSync(files.picture, 'utf8')).toContain('98,765/s');
  });
});
