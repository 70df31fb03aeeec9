/**
 * Where in an author's files something happened, read from the stack of an error of the sandbox.
 *
 * Frames of the sandbox itself say nothing to the author and are left out. Lines are those of the author's file when
 * the bundle carries a source map, otherwise those of the bundle.
 */
import { SourceMap, type SourceMapPayload } from 'node:module';
import type { WorkflowBundle } from '../bundle.js';

const FRAME = /^(\s+at .*?\(?)((?:[^\s()]|\\ )+?):(\d+):(\d+)(\)?)$/;
const INLINE_MAP = /\/\/# sourceMappingURL=data:application\/json[^,]*;base64,([A-Za-z0-9+/=]+)\s*$/;

export class Positions {
  readonly #bundles: ReadonlyMap<string, WorkflowBundle>;
  readonly #maps = new Map<string, SourceMap | undefined>();

  constructor(bundles: readonly WorkflowBundle[]) {
    this.#bundles = new Map(bundles.map((bundle) => [bundle.filename, bundle]));
  }

  /** The stack with only the frames of the author's files in it, each where the author wrote it. */
  readable(stack: string): string {
    const lines: string[] = [];
    for (const line of stack.split('\n')) {
      const frame = FRAME.exec(line);
      if (!frame) {
        if (!/^\s+at /.test(line)) lines.push(line);
        continue;
      }
      const [, before, file, row, column, after] = frame as unknown as string[];
      const position = this.#position(file!, Number(row), Number(column));
      if (position !== undefined) lines.push(`${before}${position}${after}`);
    }
    return lines.join('\n');
  }

  /** `file:line:column` of the innermost frame in an author's file. */
  innermost(stack: string): string | undefined {
    for (const line of stack.split('\n')) {
      const frame = FRAME.exec(line);
      const position = frame && this.#position(frame[2]!, Number(frame[3]), Number(frame[4]));
      if (position) return position;
    }
    return undefined;
  }

  #position(file: string, line: number, column: number): string | undefined {
    const bundle = this.#bundles.get(file);
    if (!bundle) return undefined;
    const entry = this.#mapOf(bundle)?.findEntry(line - 1, column - 1);
    if (!entry || !('originalSource' in entry)) return `${file}:${line}:${column}`;
    const source = entry.originalSource.endsWith(file) ? file : entry.originalSource;
    return `${source}:${entry.originalLine + 1}:${entry.originalColumn + 1}`;
  }

  #mapOf(bundle: WorkflowBundle): SourceMap | undefined {
    const { filename } = bundle;
    if (!this.#maps.has(filename)) {
      const encoded = INLINE_MAP.exec(bundle.code)?.[1];
      const payload = encoded && (JSON.parse(Buffer.from(encoded, 'base64').toString()) as SourceMapPayload);
      this.#maps.set(filename, payload ? new SourceMap(payload) : undefined);
    }
    return this.#maps.get(filename);
  }
}
