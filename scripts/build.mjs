// Builds dist/: the program by tsc, the code that runs inside the workflow sandbox as one file, and the dashboard.
import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { build as buildPage } from 'vite';

process.chdir(fileURLToPath(new URL('..', import.meta.url)));
if (process.argv.includes('--clean')) rmSync('dist', { recursive: true, force: true });

const tsc = spawnSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json'], {
  stdio: 'inherit',
});

await build({
  entryPoints: ['src/worker/sandbox/main.ts'],
  outfile: 'dist/worker/sandbox/bundle.cjs',
  bundle: true,
  format: 'cjs',
  platform: 'neutral',
  mainFields: ['module', 'main'],
  target: 'node20',
  logLevel: 'warning',
});

// What /docs serves is shipped with the package, so that installing it brings no page library along.
mkdirSync('dist/docs', { recursive: true });
for (const file of ['swagger-ui.css', 'swagger-ui-bundle.js', 'LICENSE', 'NOTICE']) {
  copyFileSync(`node_modules/swagger-ui-dist/${file}`, `dist/docs/${file}`);
}

await buildPage({ configFile: 'dashboard/vite.config.ts', logLevel: 'warn' });

if (existsSync('dist/cli/main.js')) chmodSync('dist/cli/main.js', 0o755);
process.exitCode = tsc.status ?? 1;
