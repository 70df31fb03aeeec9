/** The built program as a child process, for tests that meet it as a person or a caller does. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
export const EXAMPLES = fileURLToPath(new URL('../../examples', import.meta.url));

export interface Program {
  child: ChildProcess;
  /** Its exit code. */
  exited: Promise<number | null>;
  output(): string;
  /** Resolves when the output matches; rejects when the program ends before. */
  says(pattern: RegExp): Promise<RegExpExecArray>;
}

/** A folder of its own in which programs are started, all of them ended by `clear`. */
export class Workplace {
  readonly folder = mkdtempSync(join(tmpdir(), 'perdure-'));
  readonly #programs: Program[] = [];

  perdure(args: string[], env: Record<string, string> = {}): Program {
    const { PATH = '' } = process.env;
    const child = spawn(process.execPath, [MAIN, ...args], { cwd: this.folder, env: { PATH, ...env } });
    let output = '';
    const listeners = new Set<() => void>();
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
        for (const listener of listeners) listener();
      });
    }
    const exited = once(child, 'close').then(([code]) => code as number | null);
    const program: Program = {
      child,
      exited,
      output: () => output,
      says: (pattern) =>
        new Promise((resolve, reject) => {
          const look = () => {
            const found = pattern.exec(output);
            if (found) resolve(found);
          };
          listeners.add(look);
          look();
          void exited.then((code) => reject(new Error(`it ended with ${code} and had said:\n${output}`)));
        }),
    };
    this.#programs.push(program);
    return program;
  }

  /** A server that is ready, on a free port. */
  async serve(args: string[] = [], env: Record<string, string> = {}): Promise<Program & { url: string }> {
    const program = this.perdure(['serve', '--port', '0', ...args], env);
    const [, url] = await program.says(/"url":"([^"]+)".*"perdure is ready"/);
    return { ...program, url: url! };
  }

  async clear(): Promise<void> {
    for (const { child } of this.#programs) child.kill('SIGKILL');
    await Promise.all(this.#programs.map(({ exited }) => exited));
    rmSync(this.folder, { recursive: true, force: true });
  }
}
