/**
 * The line of an author's file for an error's message, read from the error's stack.
 *
 * Only a bundle that carries a source map can name such a line: a line of the bundle itself would send the reader to
 * the wrong place. Stacks as a whole are left to the worker, which maps them.
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

  /** `file:line:column` of the innermost frame in an author's file, when that is known. */
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
    if (!entry || !('originalSource' in entry)) return undefined;
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
