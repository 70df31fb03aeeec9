/**
 * Gives every statement a number, and every timer a duration that no other timer of the program has. With these the
 * events of a history can be traced back to the statements that caused them, whatever order they came in.
 */
import { type Action, type Block, blockOf, type Program, partsOf, type Statement } from './program.js';

/** Longer than any test: such a timer only ever ends by being cancelled. */
export const LONG_MS = 3_600_000;

/** Where a statement stands: positions in blocks, and names of the parts that the blocks are. */
interface Place {
  path: (number | string)[];
  /** For each name in the path: whether that part runs beside what is outside of it, later included. */
  beside: boolean[];
  statement: Statement;
}

export class Numbering {
  readonly #places = new Map<number, Place>();
  readonly #siteOfMs = new Map<number, number>();
  readonly body: Block;
  readonly script: Action[];
  #shortTimers = 0;

  constructor(program: Program) {
    // Through JSON, which gives every statement an object of its own.
    const copy = JSON.parse(JSON.stringify(program)) as Program;
    this.body = this.#number(copy.body, ['main'], [true]);
    this.script = copy.script.map((action, index) => {
      this.#number(blockOf(action), [`action${index}`], [true]);
      return action;
    });
  }

  /** Statements that wait for a callback, in order. */
  get callbackSites(): number[] {
    return [...this.#places].filter(([, { statement }]) => statement.op === 'callback').map(([site]) => site);
  }

  statement(site: number): Statement | undefined {
    return this.#places.get(site)?.statement;
  }

  /** The statement that started a timer of this duration. */
  siteOfTimer(ms: number): number | undefined {
    return this.#siteOfMs.get(ms);
  }

  /** Whether what two statements do can only happen in one order. */
  isOrdered(one: number, other: number): boolean {
    if (one === other) return true;
    const a = this.#places.get(one);
    const b = this.#places.get(other);
    if (!a || !b) return false;
    let at = 0;
    while (at < a.path.length && at < b.path.length && a.path[at] === b.path[at]) at++;
    // Parts of one statement: those of `try` follow each other, others run side by side.
    if (typeof a.path[at] === 'string' && typeof b.path[at] === 'string') {
      return (
        this.#follows(String(a.path[at])) &&
        this.#follows(String(b.path[at])) &&
        !isLoose(a, at) &&
        !isLoose(b, at)
      );
    }
    return !isLoose(a, at) && !isLoose(b, at);
  }

  /** Whether the code may have gone on before what it started there has ended. */
  isLeftBehind(site: number): boolean {
    const place = this.#places.get(site);
    if (!place) return false;
    const { op } = place.statement;
    // The first name is `main` or an action: those run beside each other, which says nothing about their statements.
    if (isLoose(place, 1) || op === 'partner' || op === 'leave') return true;
    return place.statement.op === 'hold' && place.statement.cancellation !== 'wait';
  }

  #follows(name: string): boolean {
    return /^\d /.test(name);
  }

  #number(block: Block, path: (number | string)[], beside: boolean[]): Block {
    block.forEach((statement, index) => {
      const site = this.#places.size + 1;
      statement.site = site;
      const here = [...path, index];
      this.#places.set(site, { path: here, beside: [...beside, false], statement });
      const timer = timerOf(statement);
      if (timer) {
        statement.ms = timer === 'long' ? LONG_MS + site : 1 + this.#shortTimers++;
        this.#siteOfMs.set(statement.ms, site);
      }
      for (const part of partsOf(statement)) {
        this.#number(part.block, [...here, part.name], [...beside, false, part.beside]);
      }
    });
    return block;
  }
}

/** Whether the statement is in a part, below position `at`, that goes on while others do. */
function isLoose(place: Place, at: number): boolean {
  return place.beside.slice(at).some(Boolean);
}

function timerOf(statement: Statement): 'short' | 'long' | undefined {
  switch (statement.op) {
    case 'sleep':
    case 'limit':
      return statement.long ? 'long' : 'short';
    case 'wait':
      return statement.timeout === 'none' ? undefined : statement.timeout;
    default:
      return undefined;
  }
}
