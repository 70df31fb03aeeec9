/** A name for a package, made from that of its folder: what npm would refuse is replaced. */
import { builtinModules } from 'node:module';

/** npm's own bound. */
const MAX_LENGTH = 214;
const FALLBACK = 'workflows';
const RESERVED = new Set(['node_modules', 'favicon.ico', ...builtinModules]);

/** `taken` are the packages that it depends on: npm installs none into a project of the same name. */
export function packageName(folder: string, taken: readonly string[]): string {
  const name = withoutEnd(
    folder
      .normalize('NFKD')
      .toLowerCase()
      .replaceAll(/\p{Mark}/gu, '')
      .replaceAll(/[^a-z0-9._-]+/g, '-')
      .slice(0, MAX_LENGTH - FALLBACK.length - 1)
      .replace(/^[._-]+/, ''),
  );
  if (name === '') return FALLBACK;
  return RESERVED.has(name) || taken.includes(name) ? `${name}-${FALLBACK}` : name;
}

/** Without dashes and dots at its end. By hand: the expression for this takes time with the square of a text of them. */
function withoutEnd(name: string): string {
  let end = name.length;
  while (end > 0 && '-.'.includes(name[end - 1]!)) end--;
  return name.slice(0, end);
}
