/**
 * Every regular expression of ours is linear in the length of the text it meets: one that is not lets a long text of a
 * user stop a process. They are found in the sources, so that a new one is tried as well. A text of 100,000 characters
 * takes a linear one milliseconds and a quadratic one seconds, so the bound is not a matter of load.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type AnyNode, parse } from 'acorn';
import { transformSync } from 'esbuild';
import { expect, test } from 'vitest';
import { withoutOwnFrames } from '../src/worker/loading/own-frames.js';
import { SourceLines } from '../src/worker/loading/source-lines.js';
import { spentMs } from './cpu-time.js';

const LENGTH = 100_000;
const BOUND_MS = 500;

/** Expressions that are put together when they are needed, as they look then. */
const COMPOSED: Record<string, RegExp | ((text: string) => unknown)> = {
  'http/not-found.ts': /^\/workflow\/[^/]+\/run\/[^/]+\/history$/,
  // An author's own, tried for its syntax and not used; and a class of characters, asked of one character at a time.
  'http/schema/pattern-syntax.ts': () => undefined,
  'testing/faults.ts': /^kill after (commit|step|turn) (\d+)$/,
  'worker/loading/bundler.ts': /no matching export in "perdure-steps:([^"]*)"/i,
  'worker/loading/own-frames.ts': withoutOwnFrames,
  // A copy of an author's own expression, which is not used.
  'worker/sandbox/realm/borrowed.ts': () => undefined,
};

const SOURCES = new URL('../src/', import.meta.url).pathname;

function* sourceFiles(folder = ''): Generator<string> {
  for (const entry of readdirSync(join(SOURCES, folder), { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* sourceFiles(path);
    else if (/\.ts$/.test(path) && !/\.(test|fixture)\.ts$/.test(path)) yield path;
  }
}

function* nodesOf(node: unknown): Generator<AnyNode> {
  if (typeof node !== 'object' || node === null) return;
  if ('type' in node) yield node as AnyNode;
  for (const child of Object.values(node)) yield* nodesOf(child);
}

interface Found {
  file: string;
  pattern: string;
  run(text: string): unknown;
}

function* expressionsOf(file: string): Generator<Found> {
  const { code } = transformSync(readFileSync(join(SOURCES, file), 'utf8'), {
    loader: 'ts',
    target: 'esnext',
  });
  for (const node of nodesOf(parse(code, { ecmaVersion: 'latest', sourceType: 'module' }))) {
    if (node.type === 'Literal' && node.regex) {
      const { pattern, flags } = node.regex;
      yield { file, pattern, run: usedBy(new RegExp(pattern, flags)) };
    }
    const isComposed =
      (node.type === 'NewExpression' || node.type === 'CallExpression') &&
      node.callee.type === 'Identifier' &&
      node.callee.name === 'RegExp';
    if (!isComposed) continue;
    const known = COMPOSED[file];
    if (!known) throw new Error(`${file} composes an expression: add how it looks then to COMPOSED`);
    const pattern = known instanceof RegExp ? known.source : code.slice(node.start, node.end);
    yield { file, pattern, run: known instanceof RegExp ? usedBy(known) : known };
  }
}

const usedBy = (expression: RegExp) => (text: string) => text.replace(expression, '');

/** Texts that begin to match again and again, and never do: repeated characters, and pieces of the expression itself. */
function hostileTexts(pattern: string): string[] {
  const literals = pattern.replace(/\\\//g, '/').match(/[\w "':/@<>.-]{2,}/g) ?? [];
  const pieces = new Set([
    ...'a0 :/.-_(["\\\n\tA=@$',
    ':1',
    '/a',
    'a1',
    '1:',
    '1:1:',
    ' a',
    'a ',
    '/:1',
    ...literals,
  ]);
  const starts = ['', '1', '/', ...literals];
  const texts: string[] = [];
  for (const piece of pieces) {
    const repeated = piece.repeat(Math.ceil(LENGTH / piece.length));
    for (const start of starts) texts.push(`${start}${repeated}!`, `${start}${repeated}\n`);
  }
  return texts;
}

/** A collection of garbage counts as well, but not each time; what is quadratic is slow each time. */
function leastMs(work: () => void): number {
  let least = Number.POSITIVE_INFINITY;
  for (let tries = 0; tries < 3 && least >= BOUND_MS; tries++) {
    const startedAt = process.cpuUsage();
    work();
    least = Math.min(least, spentMs(startedAt));
  }
  return least;
}

const found = [...sourceFiles()].flatMap((file) => [...expressionsOf(file)]);

test('expressions are found', () => {
  expect(found.length).toBeGreaterThan(80);
});

test.each(found)('$file: $pattern', ({ pattern, run }) => {
  for (const text of hostileTexts(pattern)) {
    const took = leastMs(() => run(text));
    expect(took, `${JSON.stringify(text.slice(0, 40))}…`).toBeLessThan(BOUND_MS);
  }
});

test('a stack trace with a long message is read in time', () => {
  const lines = new SourceLines(new Map([['a.js', '{"version":3,"sources":[],"mappings":""}']]));
  for (const piece of ['x', ':1', '1:1:', 'a.js:1:1', '(', ' ']) {
    const stack = `Error: ${piece.repeat(LENGTH)}\n    at f (b.js:1:1)`;
    const startedAt = process.cpuUsage();
    lines.innermost(stack);
    lines.restore({ kind: 'application', type: 'Error', message: '', stackTrace: stack });
    expect(spentMs(startedAt)).toBeLessThan(BOUND_MS);
  }
});
