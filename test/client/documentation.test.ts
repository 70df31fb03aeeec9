/** The code of docs/client.md compiles strictly and runs, in one piece, against the examples. */
import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { EXAMPLES } from '../../src/cli/program.fixture.js';
import { type HttpSystem, startSystem } from '../http/system.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const DOCUMENT = readFileSync(join(ROOT, 'docs/client.md'), 'utf8');
const CODE = [...DOCUMENT.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code]) => code).join('\n');

let system: HttpSystem;
let folder: string;
beforeAll(async () => {
  system = await startSystem({ directory: EXAMPLES });
  folder = mkdtempSync(join(tmpdir(), 'perdure-docs-'));
  cpSync(EXAMPLES, join(folder, 'workflows'), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  writeFileSync(join(folder, 'code.ts'), CODE.replace('http://localhost:3001', system.server.url));
  const compilerOptions = {
    ...{ target: 'ES2022', module: 'ESNext', moduleResolution: 'bundler', strict: true, types: ['node'] },
    ...{ skipLibCheck: true, outDir: 'out', rootDir: '.' },
    paths: {
      perdure: [join(ROOT, 'dist/sdk/index.d.ts')],
      'perdure/client': [join(ROOT, 'dist/client/index.d.ts')],
    },
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['code.ts'] }));
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await system.stop();
});

it('compiles and runs', async () => {
  const run = promisify(execFile);
  const compiled = run(process.execPath, [join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', folder]);
  await compiled.catch((error: { stdout: string }) => expect(error.stdout).toBe(''));
  const script = join(folder, 'out/code.js');
  const client = JSON.stringify(join(ROOT, 'dist/client/index.js'));
  writeFileSync(script, readFileSync(script, 'utf8').replace("'perdure/client'", client));
  const { stdout } = await run(process.execPath, [script]);
  expect(stdout).toMatch(/^refunded\n/);
  expect(stdout).toContain("outcome: 'shipped'");
  expect(stdout).toContain('WORKFLOW_EXECUTION_COMPLETED');
  expect(stdout).toContain('order-A-2');
  expect(stdout).toContain("path: [ 'input', 'orderId' ]");
});
