/**
 * Turns the places in a stack trace of workflow code from lines of the bundle into lines of the author's files.
 * Traces are only for people to read, so a trace that cannot be mapped stays as it is.
 */
import { SourceMap, type SourceMapPayload } from 'node:module';
import { posix } from 'node:path';
import type { Failure } from '../../core/history/failure.js';
import { withoutOwnFrames } from './own-frames.js';
import { type Place, placeIn } from './stack-places.js';

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

  /** `file:line:column` of the innermost place in an author's file, when there is one. */
  innermost(stack: string): string | undefined {
    for (const line of stack.split('\n')) {
      const place = placeIn(line);
      const original = place && this.#original(place);
      if (original !== undefined) return original;
    }
    return undefined;
  }

  #restoreText(stack: string): string {
    const lines = stack.split('\n').map((line) => {
      const place = placeIn(line);
      const original = place && this.#original(place);
      return original === undefined ? line : line.slice(0, place!.start) + original + line.slice(place!.end);
    });
    return lines.join('\n');
  }

  #original({ file, line, column }: Place): string | undefined {
    if (column === undefined) return undefined;
    const entry = this.#mapOf(file)?.findEntry(line - 1, column - 1);
    if (!entry || !('originalSource' in entry)) return undefined;
    const source = posix.join(posix.dirname(file), entry.originalSource);
    return `${source}:${entry.originalLine + 1}:${entry.originalColumn + 1}`;
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
