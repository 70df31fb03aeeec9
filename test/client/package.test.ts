/** The client as users get it: small, without a dependency, and with types that compile wherever it is used. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const MAX_BYTES = 10_000;

describe('the bundle', () => {
  it('is under 10 kB compressed, needs no other module and nothing of Node', async () => {
    const { outputFiles, metafile } = await build({
      ...{ entryPoints: [join(ROOT, 'dist/client/index.js')], bundle: true, minify: true, format: 'esm' },
      ...{ platform: 'browser', target: 'es2022', write: false, metafile: true, logLevel: 'silent' },
    });
    const inputs = Object.keys(metafile.inputs).map((path) => path.replace(/^.*dist\//, ''));
    expect(
      inputs.filter(
        (path) => !/^client\/|^core\/(errors|values\/(base-url|id-segment|json))\.js$/.test(path),
      ),
    ).toEqual([]);
    expect(outputFiles[0]!.text).not.toMatch(/\bprocess\b|\brequire\(|\bBuffer\b/);
    expect(gzipSync(outputFiles[0]!.contents, { level: 9 }).length).toBeLessThan(MAX_BYTES);
  });
});

const SCRIPT = `
import { createClient, ApiError, WorkflowFailedError } from 'perdure/client';
import type order from './order.js';

const client = createClient({ baseUrl: 'http://localhost:3001', token: 'secret' });
const orders = client.workflow<typeof order>('order');

export async function main(signal: AbortSignal): Promise<string> {
  try {
    const { tracking } = await orders.run({ orderId: 'A-1', cents: 1999 }, { signal });
    const handle = await orders.start({ orderId: 'A-2', cents: 1 }, { workflowId: 'A-2' });
    for await (const event of handle.history({ follow: true })) if (event.eventTypeName === 'TIMER_FIRED') break;
    for await (const run of client.runs({ status: 'running' })) await client.handle(run.workflowId, run.runId).stop();
    return tracking;
  } catch (error) {
    if (error instanceof WorkflowFailedError) return error.error?.message ?? error.status;
    if (error instanceof ApiError) return error.name + error.status.toFixed() + (error.issues?.[0]?.message ?? '');
    throw error;
  }
}
// @ts-expect-error cents is a number
void orders.run({ orderId: 'A-1', cents: '1999' });
`;
const ORDER = `
import { workflow, z } from 'perdure';
export default workflow({
  name: 'order',
  inputSchema: z.object({ orderId: z.string(), cents: z.number() }),
  outputSchema: z.object({ tracking: z.string() }),
  fn: async () => ({ tracking: 'x' }),
});
`;

describe('the types', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'perdure-client-'));
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    writeFileSync(join(folder, 'script.ts'), SCRIPT);
    writeFileSync(join(folder, 'order.ts'), ORDER);
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it.each([
    ['a browser', ['ES2022', 'DOM', 'DOM.Iterable'], []],
    ['Node', ['ES2023'], ['node']],
  ])(
    'compile strictly for %s, libraries included',
    (_where, lib, types) => {
      const compilerOptions = {
        ...{
          target: 'ES2022',
          module: 'ESNext',
          moduleResolution: 'bundler',
          strict: true,
          noEmit: true,
          lib,
          types,
        },
        ...{ skipLibCheck: false, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true },
        paths: {
          perdure: [join(ROOT, 'dist/sdk/index.d.ts')],
          'perdure/client': [join(ROOT, 'dist/client/index.d.ts')],
        },
      };
      writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['script.ts'] }));
      const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
      try {
        execFileSync(process.execPath, [tsc, '-p', folder], { encoding: 'utf8', stdio: 'pipe' });
      } catch (error) {
        expect((error as { stdout: string }).stdout).toBe('');
        throw error;
      }
    },
    60_000,
  );

  it('are found under the name that is exported', () => {
    const { exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    expect(exports['./client']).toEqual({
      types: './dist/client/index.d.ts',
      default: './dist/client/index.js',
    });
  });
});
