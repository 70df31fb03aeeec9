/** Style sheets of views stay on the page once they have been loaded: a class that two of them have is a surprise to both. */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const SOURCES = fileURLToPath(new URL('..', import.meta.url));

/** Classes that stand alone before a brace, outside of media queries. */
function classesOf(sheet: string): Set<string> {
  const rules = readFileSync(`${SOURCES}${sheet}`, 'utf8')
    .replace(/\/\*.*?\*\//gs, '')
    .replace(/@media[^{]*\{(?:[^{}]*\{[^}]*\})*[^}]*\}/g, '');
  return new Set([...rules.matchAll(/(?:^|[,}])\s*(\.[\w-]+)\s*(?=[,{])/g)].map(([, name]) => name!));
}

it('gives each class one style sheet', () => {
  const sheets = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' }).filter((path) =>
    path.endsWith('.css'),
  );
  const owners = new Map<string, string[]>();
  for (const sheet of sheets) {
    for (const name of classesOf(sheet)) owners.set(name, [...(owners.get(name) ?? []), sheet]);
  }
  expect(owners.size).toBeGreaterThan(100);
  expect([...owners].filter(([, found]) => found.length > 1)).toEqual([]);
});
