/**
 * A log in which the same message is told one by one only so often, and then counted: a store or a disk that fails does so
 * for every run.
 */
import type { Log } from '../core/log.js';

/** Lines with the same message, and in how long. */
export const TOLD = { lines: 20, withinMs: 10_000 } as const;

type Level = 'warn' | 'error';

export class LimitedLog implements Log {
  readonly #times = new Map<string, { level: Level; count: number }>();
  #window: NodeJS.Timeout | undefined;

  constructor(private readonly log: Log) {}

  debug(fields: object, message: string): void {
    this.log.debug(fields, message);
  }

  info(fields: object, message: string): void {
    this.log.info(fields, message);
  }

  warn(fields: object, message: string): void {
    this.#tell('warn', fields, message);
  }

  error(fields: object, message: string): void {
    this.#tell('error', fields, message);
  }

  /** Tells what was only counted. */
  flush(): void {
    clearTimeout(this.#window);
    this.#window = undefined;
    for (const [message, { level, count }] of this.#times) {
      if (count > TOLD.lines) this.log[level]({ more: count - TOLD.lines, withinMs: TOLD.withinMs }, message);
    }
    this.#times.clear();
  }

  #tell(level: Level, fields: object, message: string): void {
    this.#window ??= setTimeout(() => this.flush(), TOLD.withinMs).unref();
    const times = this.#times.get(message) ?? { level, count: 0 };
    this.#times.set(message, times);
    if (++times.count <= TOLD.lines) this.log[level](fields, message);
  }
}
