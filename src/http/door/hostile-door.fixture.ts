/**
 * A program that serves a scripted engine whose catalog is hostile, so that a test can ask from another process how
 * long the server is silent. It prints its address, and ends when its input does.
 */
import type { JsonSchema } from '../../core/catalog.js';
import { catalogOf, ScriptedEngine } from '../scripted-engine.fixture.js';
import { createServer } from '../server.js';

/** `schemas`: the input schema of each workflow, by the name of the workflow. */
const schemas = JSON.parse(process.argv[2]!) as Record<string, string>;

const engine = new ScriptedEngine();
const entries = Object.entries(schemas).map(([name, code]) => ({
  name,
  inputSchema: new Function(`return (${code})`)() as JsonSchema,
}));
engine.catalogs.set('default', catalogOf('default', entries));
const server = createServer({ engine });
await server.listen({ host: '127.0.0.1', port: 0 });
process.stdout.write(`${server.url}\n`);
process.stdin.on('end', () => process.exit(0)).resume();
