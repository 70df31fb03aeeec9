/** The lines of the README that a newcomer pastes work word for word, against the examples. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { EXAMPLES, type Program, Workplace } from '../../src/cli/program.fixture.js';
import { MAIN } from '../cli/shell.js';

const README = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
/** With the lines that a backslash continues joined. */
const CURLS = README.replaceAll('\\\n', '').match(/^curl .*$/gm) ?? [];

let workplace: Workplace;
let server: Program & { url: string };

beforeAll(async () => {
  workplace = new Workplace();
  server = await workplace.serve(['--workflows', EXAMPLES, '--workers', '1']);
});
afterAll(() => workplace.clear());

/** Word for word, as a shell reads them. */
const COMMANDS = README.match(/^npx perdure (run|start|watch|catalog|list) .*$/gm) ?? [];

it('has commands to try, which work in their order', async () => {
  expect(COMMANDS.length).toBeGreaterThanOrEqual(4);
  const program = `PERDURE_SERVER=${server.url} "${process.execPath}" "${MAIN}"`;
  const script = COMMANDS.map((line) => line.replace('npx perdure', program)).join(' && ');
  const { stdout } = await promisify(execFile)('sh', ['-c', script]);
  expect(stdout).toMatch(/Hello, Ada!.*ada-monthly.*"invoices":5.*subscription/s);
});

it('has lines to try', () => expect(CURLS.length).toBeGreaterThanOrEqual(5));

it.each(CURLS)('%s', async (line) => {
  const url = /http:\/\/localhost:3001([^\s']*)/.exec(line)![1]!;
  const body = / -d '([^']*)'/.exec(line)?.[1];
  const response = await fetch(server.url + url, {
    method: /-X (\w+)/.exec(line)?.[1] ?? 'GET',
    headers: line.includes("-H 'content-type: application/json'")
      ? { 'content-type': 'application/json' }
      : {},
    body,
  });
  expect(await response.json()).not.toHaveProperty('error.name');
  expect(response.status).toBe(200);
});
