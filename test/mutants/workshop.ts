/**
 * A copy of the checkout in a temporary folder, where bugs are put in one at a time.
 *
 * Tests of workers run what is in dist/. Of that, only the files that a patch changes are made anew, without looking at
 * types: a mutant that no longer fits its types is one that still runs.
 */
import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { build, transform } from 'esbuild';
import { CHECKOUT, gitApply, type Mutant } from './patches.js';

const SANDBOX = { source: 'src/worker/sandbox/main.ts', built: 'dist/worker/sandbox/bundle.cjs' };

export class Workshop {
  readonly path = mkdtempSync(join(tmpdir(), 'perdure-mutants-'));
  /** What was there before the bug that is in now. */
  readonly #before = new Map<string, Buffer>();

  constructor() {
    const listed = spawnSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
      cwd: CHECKOUT,
      encoding: 'utf8',
      maxBuffer: 64 * 1024 * 1024,
    });
    if (listed.status !== 0) throw new Error(`the files of the checkout are not known: ${listed.stderr}`);
    for (const file of listed.stdout.split('\0')) {
      if (file === '' || !existsSync(join(CHECKOUT, file))) continue;
      mkdirSync(join(this.path, dirname(file)), { recursive: true });
      copyFileSync(join(CHECKOUT, file), join(this.path, file));
    }
    cpSync(join(CHECKOUT, 'dist'), join(this.path, 'dist'), { recursive: true });
    symlinkSync(join(CHECKOUT, 'node_modules'), join(this.path, 'node_modules'));
  }

  /** Puts the bug in. Returns why it does not apply, and then nothing has changed. */
  async put(mutant: Mutant): Promise<string | undefined> {
    for (const file of mutant.changes) this.#remember(file);
    const refusal = gitApply(this.path, mutant.file);
    if (refusal !== undefined) {
      this.#before.clear();
      return refusal;
    }
    try {
      await this.#build(mutant.changes);
      return undefined;
    } catch (error) {
      this.restore();
      return `what it makes of the code cannot be built: ${(error as Error).message}`;
    }
  }

  /** Takes it out again. */
  restore(): void {
    for (const [file, content] of this.#before) writeFileSync(join(this.path, file), content);
    this.#before.clear();
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }

  async #build(changes: readonly string[]): Promise<void> {
    for (const file of changes) {
      const built = file.replace(/^src\//, 'dist/').replace(/\.ts$/, '.js');
      if (!existsSync(join(this.path, built))) continue;
      this.#remember(built);
      const source = readFileSync(join(this.path, file), 'utf8');
      const { code } = await transform(source, {
        ...{ loader: 'ts', format: 'esm', target: 'es2022', sourcefile: file },
        tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true, useDefineForClassFields: true } },
      });
      writeFileSync(join(this.path, built), code);
    }
    if (!changes.some((file) => /^src\/(core|sdk|worker)\//.test(file))) return;
    this.#remember(SANDBOX.built);
    await build({
      ...{ entryPoints: [join(this.path, SANDBOX.source)], outfile: join(this.path, SANDBOX.built) },
      ...{ bundle: true, format: 'cjs', platform: 'neutral', mainFields: ['module', 'main'] },
      ...{ target: 'node20', logLevel: 'error', absWorkingDir: this.path },
    });
  }

  #remember(file: string): void {
    if (!this.#before.has(file)) this.#before.set(file, readFileSync(join(this.path, file)));
  }
}
