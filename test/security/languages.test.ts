/** Texts of callers in other languages: SQL, Temporal's query language, regular expressions. They stay texts. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { Folder } from '../../src/embedded/scripted-worker.fixture.js';
import { queryOf } from '../../src/temporal/reading/list.js';

const SRC = fileURLToPath(new URL('../../src', import.meta.url));
const sources = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts') && !/\.(test|fixture)\.ts$/.test(file))
  .map((file) => ({ file, text: readFileSync(join(SRC, file), 'utf8') }));

/** The first argument of each call, as it is written. */
function statementsIn(text: string): string[] {
  return [...text.matchAll(/\b(?:prepare|exec|pragma)\(\s*(`[^`]*`|'[^']*'|"[^"]*"|[^,)]*)/g)].map(
    ([, argument]) => argument!,
  );
}

describe('SQL', () => {
  /** What stands in a statement that is put together: numbers of our own, and conditions that are looked at below. */
  const OURS = /\$\{(?:APPLICATION_ID|LOOKED_AT|MAX_INTEGRITY_LINES|next \+ 1|where\.join\(' AND '\))\}/g;

  it('is never put together from what callers send', () => {
    const found = sources
      .filter(({ file }) => file.startsWith('embedded/'))
      .flatMap(({ file, text }) =>
        statementsIn(text)
          .filter((statement) => statement.startsWith('`') && statement.replace(OURS, '').includes('$' + '{'))
          .map((statement) => `${file}: ${statement}`),
      );
    expect(found).toEqual([]);
    expect(sources.flatMap(({ text }) => statementsIn(text)).length).toBeGreaterThan(40);
  });

  it('has conditions that are texts of our own', () => {
    const statements = sources.filter(({ file }) => file.startsWith('embedded/')).map(({ text }) => text);
    const count = (pushed: RegExp) => statements.flatMap((text) => text.match(pushed) ?? []).length;
    expect(count(/\bwhere\.push\(/g)).toBeGreaterThan(3);
    expect(count(/\bwhere\.push\(\s*'[^']*',?\s*\)/g)).toBe(count(/\bwhere\.push\(/g));
  });

  it('is found by this test where it is put together', () => {
    const hole = '$' + '{column}';
    expect(statementsIn(`db.prepare(\`SELECT ${hole} FROM t\`)`)).toEqual([`\`SELECT ${hole} FROM t\``]);
  });

  it.each(["x' OR '1'='1", "x'; DROP TABLE runs; --", '%', '_', '*', 'x"y', '\\', 'ü%', '?1', '$a', ':b'])(
    'finds the id %s as it is, and nothing else',
    async (workflowId) => {
      const folder = new Folder();
      const engine = folder.open();
      for (const id of [workflowId, 'harmless', `${workflowId}!`]) {
        await engine.start({ workflowType: 'flow', catalog: 'default', workflowId: id, input: ['1'] });
      }
      const ids = async (filter: object) =>
        (await engine.list(filter, { limit: 10 })).runs.map((run) => run.workflowId).sort();
      expect(await ids({ workflowId })).toEqual([workflowId]);
      expect(await ids({ workflowIdPrefix: workflowId })).toEqual([workflowId, `${workflowId}!`].sort());
      expect((await engine.describe({ workflowId })).workflowId).toBe(workflowId);
      await folder.remove();
    },
  );

  it('takes a text in double quotes for a name, as it should', () => {
    const db = new Database(':memory:');
    expect(() => db.prepare('SELECT "no_such_column"')).toThrow();
    db.close();
  });

  it('of a file that somebody changed runs no code of it', () => {
    const text = readFileSync(join(SRC, 'embedded/store/folder/database.ts'), 'utf8');
    expect(text).toContain("pragma('trusted_schema = OFF')");
    expect(text).toContain("pragma('cell_size_check = ON')");
    for (const { text: source } of sources) expect(source).not.toMatch(/loadExtension|ATTACH /);
  });
});

/** Reads a query as Temporal's parser does: both quotes, doubled quotes, backslashes, comments. */
function tokensOf(query: string): { texts: string[]; rest: string } {
  const texts: string[] = [];
  let rest = '';
  for (let i = 0; i < query.length; i++) {
    const quote = query[i]!;
    if (quote !== "'" && quote !== '"' && quote !== '`') {
      rest += quote;
      continue;
    }
    let text = '';
    for (i++; i < query.length; i++) {
      if (query[i] === '\\') text += query[++i];
      else if (query[i] === quote && query[i + 1] === quote) text += query[++i];
      else if (query[i] === quote) break;
      else text += query[i];
    }
    if (i >= query.length) throw new Error(`a text does not end: ${query}`);
    texts.push(text);
    rest += '?';
  }
  return { texts, rest };
}

describe("Temporal's query language", () => {
  const ATTACKS = [
    'x" OR "1"="1',
    "x' OR ''='",
    'x\\',
    'x\\" OR WorkflowType!="',
    "x\\' OR WorkflowType!='",
    'x"--',
    "x'--",
    'x"#',
    'x"/*',
    "'/*",
    '`x`',
    '%',
    "' STARTS_WITH '",
    "''",
    '"',
    `${'y'.repeat(10_000)}'`,
  ];
  const place = { startedAt: 1_800_000_000_000, runId: '' };

  it.each(ATTACKS)('an id stays a text, or is not in the query at all: %s', (text) => {
    for (const filter of [{ workflowId: text }, { workflowIdPrefix: text }]) {
      const harmless = tokensOf(
        queryOf({ ...filter, workflowId: undefined, workflowIdPrefix: undefined }, place, 0),
      );
      const { texts, rest } = tokensOf(queryOf(filter, place, 0));
      const added = rest.replaceAll(/ AND WorkflowId (=|STARTS_WITH) \?| AND WorkflowId IS NOT NULL/g, '');
      expect(added).toBe(harmless.rest);
      expect(rest).not.toMatch(/--|#|\/\*|\bOR\b/);
      // What is looked for is the id, or what it begins with; the rest is compared with what is found.
      for (const each of texts.filter((found) => !harmless.texts.includes(found)))
        expect(text.startsWith(each)).toBe(true);
    }
  });
});

it('no code is made from texts', () => {
  const inSandbox = /^worker\/sandbox\/|^worker\/loading\//;
  for (const { file, text } of sources) {
    if (inSandbox.test(file)) continue;
    expect([file, /\beval\(|new Function\(|vm\.runIn/.test(text)]).toEqual([file, false]);
  }
});
