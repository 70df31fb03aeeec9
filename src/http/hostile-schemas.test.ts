/** Schemas and patterns are written by authors, and texts by callers: whatever they are, the server goes on answering. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

/** The code of a schema, and the code of an input for it. */
type Case = { schema: string; input: () => unknown };

const manyA = () => `${'a'.repeat(40)}!`;
const longText = () => `${'a'.repeat(1_900_000)}!`;
const manyValues = (make: (i: number) => unknown) => Array.from({ length: 200_000 }, (_, i) => make(i));
const nestedRefs = (keyword: string) =>
  `({ $defs: Object.fromEntries(Array.from({ length: 40 }, (_, i) => ['d' + i, i === 39 ? { type: 'string' } : { ${keyword}: [{ $ref: '#/$defs/d' + (i + 1) }, { $ref: '#/$defs/d' + (i + 1) }] }])), $ref: '#/$defs/d0' })`;

const CASES: Record<string, Case> = {
  nested_plus: { schema: '({ type: "string", pattern: "^(a+)+$" })', input: manyA },
  nested_star: { schema: '({ type: "string", pattern: "^(a*)*$" })', input: manyA },
  alternation: { schema: '({ type: "string", pattern: "^(a|aa)+$" })', input: manyA },
  same_twice: { schema: '({ type: "string", pattern: "^(a|a)*$" })', input: manyA },
  lazy: { schema: '({ type: "string", pattern: "^(a+?)+?$" })', input: manyA },
  lookahead: { schema: '({ type: "string", pattern: "^(?=(a+)+$)a" })', input: manyA },
  inner_lookahead: { schema: '({ type: "string", pattern: "^(a(?=a*)+)+$" })', input: manyA },
  backreference: { schema: '({ type: "string", pattern: "^(a+)+\\\\1$" })', input: manyA },
  quadratic: { schema: '({ type: "string", pattern: "a*a*a*a*b" })', input: longText },
  counted: { schema: '({ type: "string", pattern: "^(a{0,90}){0,90}$" })', input: longText },
  of_keys: {
    schema: '({ type: "object", patternProperties: { "^(a+)+$": { type: "string" } } })',
    input: () => ({ [manyA()]: 1 }),
  },
  of_names: {
    schema: '({ type: "object", propertyNames: { pattern: "^(a+)+$" } })',
    input: () => ({ [manyA()]: 1 }),
  },
  all_of: {
    schema: '({ allOf: Array.from({ length: 65_536 }, () => ({ type: "string" })) })',
    input: () => 1,
  },
  any_of: {
    schema: '({ anyOf: Array.from({ length: 65_536 }, (_, i) => ({ const: i })) })',
    input: () => 'none of them',
  },
  many_items: { schema: '({ type: "array", items: { type: "string" } })', input: () => manyValues(() => 0) },
  unique_items: { schema: '({ type: "array", uniqueItems: true })', input: () => manyValues((i) => [i]) },
  every_item_many_times: {
    schema: '({ items: { anyOf: Array.from({ length: 500 }, (_, i) => ({ const: [i] })) } })',
    input: () => manyValues(() => 0),
  },
  refs_that_double: { schema: nestedRefs('allOf'), input: () => 'text' },
  refs_that_double_in_vain: { schema: nestedRefs('anyOf'), input: () => 1 },
  ref_to_itself: { schema: '({ $ref: "#" })', input: () => 1 },
  refs_in_a_circle: {
    schema:
      '({ $ref: "#/$defs/a", $defs: { a: { $ref: "#/$defs/b" }, b: { allOf: [{ $ref: "#/$defs/a" }] } } })',
    input: () => 1,
  },
  deep: {
    schema:
      '(() => { let s = { type: "string" }; for (let i = 0; i < 3_000; i++) s = { allOf: [s] }; return s; })()',
    input: () => 1,
  },
};

/** Without the bounds these took from seconds to minutes. */
const SILENT_AT_MOST_MS = 5_000;

describe('a hostile schema', { timeout: 120_000 }, () => {
  let program: ChildProcess;
  let url: string;

  beforeAll(async () => {
    const schemas = Object.fromEntries(Object.entries(CASES).map(([name, { schema }]) => [name, schema]));
    const path = fileURLToPath(new URL('./door/hostile-door.fixture.ts', import.meta.url));
    program = spawn(process.execPath, ['--import', 'tsx', path, JSON.stringify(schemas)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const [line] = (await once(program.stdout!, 'data')) as [Buffer];
    url = line.toString().trim();
  });
  afterAll(() => program.kill());

  it.each(Object.keys(CASES))('%s leaves the server answering', async (name) => {
    const { input } = CASES[name]!;
    let isAnswered = false;
    const answer = fetch(`${url}/workflow/start`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ workflowName: name, input: input() }),
    }).finally(() => {
      isAnswered = true;
    });
    let longestMs = 0;
    do {
      const askedAt = performance.now();
      const health = await fetch(`${url}/health`, { headers: { connection: 'close' } });
      expect(health.status).toBe(200);
      longestMs = Math.max(longestMs, performance.now() - askedAt);
    } while (!isAnswered);
    // Refused, or left to the worker: both are right, as long as somebody says so in time.
    expect([200, 400]).toContain((await answer).status);
    expect(longestMs).toBeLessThan(SILENT_AT_MOST_MS);
  });
});
