/**
 * Turns the places in a stack trace of workflow code from lines of the bundle into lines of the author's files.
 * Traces are only for people to read, so a trace that cannot be mapped stays as it is.
 */
import { SourceMap, type SourceMapPayload } from 'node:module';
import { posix } from 'node:path';
import type { Failure } from '../core/failure.js';
import { withoutOwnFrames } from './own-frames.js';

export class SourceLines {
  readonly #texts: ReadonlyMap<string, string>;
  readonly #maps = new Map<string, SourceMap>();

  /** Source maps as JSON, by the file name that the bundle has in traces. */
  constructor(maps: ReadonlyMap<string, string>) {
    this.#texts = maps;
  }

  /** In place: the failure and its causes. */
  restore(failure: Failure): void {
    for (let at: Failure | undefined = failure; at; at = at.cause) {
      if (at.stackTrace !== undefined) at.stackTrace = this.#restoreText(withoutOwnFrames(at.stackTrace));
    }
  }

  #restoreText(stack: string): string {
    return stack.replace(
      /([^\s()]+):(\d+):(\d+)(?=\)?$)/gm,
      (place, file: string, line: string, column: string) => {
        const entry = this.#mapOf(file)?.findEntry(Number(line) - 1, Number(column) - 1);
        if (!entry || !('originalSource' in entry)) return place;
        const source = posix.join(posix.dirname(file), entry.originalSource);
        return `${source}:${entry.originalLine + 1}:${entry.originalColumn + 1}`;
      },
    );
  }

  /** Parsed when the first error of the file is seen; most files never have one. */
  #mapOf(file: string): SourceMap | undefined {
    const known = this.#maps.get(file);
    if (known) return known;
    const text = this.#texts.get(file);
    if (text === undefined) return undefined;
    const map = new SourceMap(JSON.parse(text) as SourceMapPayload);
    this.#maps.set(file, map);
    return map;
  }
}
