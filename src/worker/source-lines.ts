/**
 * Turns the places in a stack trace of workflow code from lines of the bundle into lines of the author's files.
 * Traces are only for people to read, so a trace that cannot be mapped stays as it is.
 */
import { SourceMap, type SourceMapPayload } from 'node:module';
import { posix } from 'node:path';
import type { Failure } from '../core/failure.js';
import { withoutOwnFrames } from './own-frames.js';

/** A place at the end of a line of a stack trace. */
const PLACE = /([^\s()]+):(\d+):(\d+)(?=\)?$)/gm;

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
    for (const [, file, line, column] of stack.matchAll(PLACE)) {
      const original = this.#original(file!, Number(line), Number(column));
      if (original !== undefined) return original;
    }
    return undefined;
  }

  #restoreText(stack: string): string {
    return stack.replace(
      PLACE,
      (place, file: string, line: string, column: string) =>
        this.#original(file, Number(line), Number(column)) ?? place,
    );
  }

  #original(file: string, line: number, column: number): string | undefined {
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
