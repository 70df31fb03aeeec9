/** How large a catalog may be: the server keeps it in memory, lists it in one answer and stores it in one row. */
import type { JsonSchema, RegisteredWorkflow } from '../catalog.js';
import { MAX_CATALOG_BYTES, MAX_SCHEMA_BYTES, MAX_SCHEMA_DEPTH } from './limits.js';

/** What is wrong with the size of the schema, or undefined when it is within bounds. */
export function schemaProblem(schema: JsonSchema): string | undefined {
  // First, since writing down a value that is nested too deeply overflows the stack.
  if (isDeeperThan(schema, MAX_SCHEMA_DEPTH)) return `is nested deeper than ${MAX_SCHEMA_DEPTH} levels`;
  const bytes = Buffer.byteLength(JSON.stringify(schema));
  if (bytes > MAX_SCHEMA_BYTES) return `takes ${bytes} bytes of JSON, and ${MAX_SCHEMA_BYTES} are the limit`;
  return undefined;
}

/** What is wrong with the size of a registration, or undefined. */
export function catalogProblem(workflows: readonly RegisteredWorkflow[]): string | undefined {
  let bytes = 0;
  for (const { entry, accepts = {} } of workflows) {
    // A catalog holds nothing of its own that nests, so this bounds what writing it down may cost.
    if (isDeeperThan([entry, accepts], MAX_SCHEMA_DEPTH + 10)) {
      return `a schema of "${entry.name}" is nested too deeply`;
    }
    bytes += Buffer.byteLength(JSON.stringify([entry, accepts]));
    if (bytes > MAX_CATALOG_BYTES) return `the catalog takes more than ${MAX_CATALOG_BYTES} bytes`;
  }
  return undefined;
}

function isDeeperThan(value: unknown, levels: number): boolean {
  const waiting: { value: unknown; level: number }[] = [{ value, level: 1 }];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (typeof next.value !== 'object' || next.value === null) continue;
    if (next.level > levels) return true;
    for (const part of Object.values(next.value)) waiting.push({ value: part, level: next.level + 1 });
  }
  return false;
}
