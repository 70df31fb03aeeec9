/**
 * A connection to a real SQLite file whose calls fail when a plan says so.
 *
 * 1. What is not told to fail goes to SQLite as it is, so the store under test is the real one.
 * 2. A fault is what SQLite would have thrown, with its code, and has left behind what that code means: nothing of the
 *    transaction after `busy`, `full` and `ioerr-before`, and all of it after an `ioerr-after` of the commit.
 */
import Database from 'better-sqlite3';
import type { Connect } from '../../src/embedded/store/folder/database.js';

/** `ioerr-before`: not executed. `ioerr-after`: executed and told to have failed. `delay`: executed, late. */
export const FAULTS = ['busy', 'ioerr-before', 'ioerr-after', 'full', 'delay'] as const;
export type Fault = (typeof FAULTS)[number];

/** `write` is a statement inside of a transaction; the transaction itself is its `begin` and its `commit`. */
export type CallKind = 'open' | 'read' | 'setting' | 'begin' | 'write' | 'commit';

export interface FaultPlan {
  /** What becomes of the call; asked once for each. */
  faultOf(kind: CallKind, sql: string): Fault | undefined;
}

/** As long as a disk that is busy with others may take. */
const DELAY_MS = 10;

/** Connections whose calls fail by the plan. */
export function connecting(plan: FaultPlan): Connect {
  return (file, options) => {
    const fault = new Call(plan, 'open', file);
    // What is opened with a failure is closed by SQLite itself: nobody else has it.
    const db = fault.execute(() => new Database(file, options));
    return new FaultyDatabase(db, plan) as unknown as Database.Database;
  };
}

/** One call: what is done of it, and how it ends. */
class Call {
  readonly #fault: Fault | undefined;

  constructor(
    plan: FaultPlan,
    kind: CallKind,
    private readonly sql: string,
  ) {
    this.#fault = plan.faultOf(kind, sql);
    // To read needs no space.
    if (kind === 'read' && this.#fault === 'full') this.#fault = 'ioerr-before';
    // A connection that was opened, or a transaction that was begun, would be left behind.
    if ((kind === 'open' || kind === 'begin') && this.#fault === 'ioerr-after') this.#fault = 'ioerr-before';
  }

  execute<T>(action: () => T): T {
    this.before();
    const result = action();
    this.after();
    return result;
  }

  before(): void {
    if (this.#fault === 'delay') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, DELAY_MS);
    else if (this.#fault !== undefined && this.#fault !== 'ioerr-after')
      throw sqliteError(this.#fault, this.sql);
  }

  after(): void {
    if (this.#fault === 'ioerr-after') throw sqliteError(this.#fault, this.sql);
  }
}

const CODES = {
  busy: ['SQLITE_BUSY', 'database is locked'],
  full: ['SQLITE_FULL', 'database or disk is full'],
  'ioerr-before': ['SQLITE_IOERR_WRITE', 'disk I/O error'],
  'ioerr-after': ['SQLITE_IOERR_FSYNC', 'disk I/O error'],
} as const;

function sqliteError(fault: keyof typeof CODES, sql: string): Error {
  const [code, message] = CODES[fault];
  return new Database.SqliteError(`${message} (${PUT_IN}: ${sql.slice(0, 60)})`, code);
}

const PUT_IN = 'put in by the test';

/** Whether an engine that has stopped with this error had a reason to. */
export function isPutIn(error: Error): boolean {
  return error.message.includes(PUT_IN);
}

/** The part of a connection that the store uses. */
class FaultyDatabase {
  constructor(
    private readonly db: Database.Database,
    private readonly plan: FaultPlan,
  ) {}

  get open(): boolean {
    return this.db.open;
  }

  get inTransaction(): boolean {
    return this.db.inTransaction;
  }

  prepare(sql: string): FaultyStatement {
    return new FaultyStatement(this.db.prepare(sql), this, sql);
  }

  function(
    name: string,
    options: Database.RegistrationOptions,
    action: (...args: unknown[]) => unknown,
  ): void {
    this.db.function(name, options, action);
  }

  pragma(text: string, options?: Database.PragmaOptions): unknown {
    return this.call('setting', text).execute(() => this.db.pragma(text, options));
  }

  exec(sql: string): void {
    this.call('setting', sql).execute(() => this.db.exec(sql));
  }

  transaction<A extends unknown[], R>(action: (...args: A) => R) {
    const transaction = this.db.transaction((args: A, commits: () => void): R => {
      const result = action(...args);
      commits();
      return result;
    });
    const failing = (variant: 'immediate' | 'exclusive') => {
      return (...args: A): R => {
        this.call('begin', `BEGIN ${variant}`).before();
        let commit: Call | undefined;
        const result = transaction[variant](args, () => {
          commit = this.call('commit', 'COMMIT');
          commit.before();
        });
        commit?.after();
        return result;
      };
    };
    return { immediate: failing('immediate'), exclusive: failing('exclusive') };
  }

  backup(file: string): Promise<Database.BackupMetadata> {
    return this.db.backup(file);
  }

  close(): void {
    this.db.close();
  }

  call(kind: CallKind, sql: string): Call {
    return new Call(this.plan, kind, sql);
  }
}

class FaultyStatement {
  constructor(
    private readonly statement: Database.Statement,
    private readonly db: FaultyDatabase,
    private readonly sql: string,
  ) {}

  pluck(): this {
    this.statement.pluck();
    return this;
  }

  raw(): this {
    this.statement.raw();
    return this;
  }

  run(...args: unknown[]): Database.RunResult {
    return this.#call().execute(() => this.statement.run(...args));
  }

  get(...args: unknown[]): unknown {
    return this.#call().execute(() => this.statement.get(...args));
  }

  all(...args: unknown[]): unknown[] {
    return this.#call().execute(() => this.statement.all(...args));
  }

  *iterate(...args: unknown[]): Generator<unknown> {
    const call = this.#call();
    call.before();
    yield* this.statement.iterate(...args);
    call.after();
  }

  #call(): Call {
    return this.db.call(this.db.inTransaction ? 'write' : 'read', this.sql);
  }
}
