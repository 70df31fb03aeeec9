/** A project of somebody else's with the built package installed, and programs that run in it. */
import { spawn } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** Programs end by themselves, on a busy machine as well; one that takes longer than this does not. */
const MAX_MS = 180_000;

export class Project {
  /** With a space in its name, as folders of people have. */
  readonly path = mkdtempSync(join(tmpdir(), 'perdure project-'));

  constructor() {
    const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
      dependencies: Record<string, string>;
      files: string[];
    };
    const modules = join(this.path, 'node_modules');
    mkdirSync(join(modules, 'perdure'), { recursive: true });
    for (const file of ['package.json', 'dist']) {
      cpSync(join(ROOT, file), join(modules, 'perdure', file), { recursive: true });
    }
    for (const name of [
      ...Object.keys(manifest.dependencies),
      'vitest',
      'tsx',
      'typescript',
      '@types/node',
    ]) {
      mkdirSync(dirname(join(modules, name)), { recursive: true });
      symlinkSync(join(ROOT, 'node_modules', name), join(modules, name));
    }
    this.write('package.json', JSON.stringify({ private: true, type: 'module' }));
  }

  write(file: string, text: string): void {
    const path = join(this.path, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }

  /** All files but those of packages. */
  files(): string[] {
    return readdirSync(this.path, { recursive: true, encoding: 'utf8' })
      .filter((file) => !file.startsWith('node_modules'))
      .sort();
  }

  /** Runs Node there. Resolves when the program has ended by itself. */
  node(...args: string[]): Promise<{ code: number | null; output: string }> {
    return new Promise((resolve, reject) => {
      const env = {
        ...process.env,
        NODE_OPTIONS: '',
        NO_COLOR: '1',
        FORCE_COLOR: undefined,
        VITEST: undefined,
        NODE_TEST_CONTEXT: undefined,
      };
      const child = spawn(process.execPath, args, { cwd: this.path, env, timeout: MAX_MS });
      let output = '';
      child.stdout.on('data', (chunk) => {
        output += chunk;
      });
      child.stderr.on('data', (chunk) => {
        output += chunk;
      });
      child.on('error', reject);
      child.on('close', (code) => resolve({ code, output }));
    });
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}
