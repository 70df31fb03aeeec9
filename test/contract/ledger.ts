/**
 * Sees what steps really do, from outside of the engine: a small HTTP server in the test's process.
 *
 * A step records each time it runs, and can be held at a gate until the test opens it. So "ran exactly twice" and
 * "was under way when …" are facts, not guesses about time.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface LedgerEntry {
  key: string;
  /** What the step says: `ran`, `started`, `finished`, `aborted`, … */
  what: string;
  step: string;
  attempt: number;
  workflowId: string;
  runId: string;
  idempotencyKey: string;
  at: number;
  pid: number;
  value?: unknown;
}

export class Ledger {
  readonly #entries: LedgerEntry[] = [];
  readonly #open = new Set<string>();
  readonly #held = new Map<string, Set<ServerResponse>>();
  readonly #watchers = new Set<() => void>();
  readonly #server = createServer((request, response) => void this.#answer(request, response));

  #isLeftOut: (entry: LedgerEntry) => boolean = () => false;

  private constructor(private readonly waitMs: number) {}

  static async start(waitMs = 20_000): Promise<Ledger> {
    const ledger = new Ledger(waitMs);
    ledger.#server.listen(0, '127.0.0.1');
    await once(ledger.#server, 'listening');
    return ledger;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  entries(key: string, what?: string): LedgerEntry[] {
    return this.#entries.filter(
      (entry) => entry.key === key && (what === undefined || entry.what === what) && !this.#isLeftOut(entry),
    );
  }

  /** Of some attempts nothing is told: the system itself has cut them off, and they were made again. */
  leaveOut(isLeftOut: (entry: LedgerEntry) => boolean): void {
    this.#isLeftOut = isLeftOut;
  }

  /** Resolves once `key` has at least `count` entries that say `what`. */
  async until(key: string, what: string, count = 1): Promise<LedgerEntry[]> {
    const deadline = Date.now() + this.waitMs;
    for (;;) {
      const found = this.entries(key, what);
      if (found.length >= count) return found;
      const left = deadline - Date.now();
      if (left <= 0)
        throw new Error(`${key}: ${found.length} of ${count} "${what}" entries within ${this.waitMs} ms`);
      await new Promise<void>((resolve) => {
        const wake = () => {
          clearTimeout(timer);
          this.#watchers.delete(wake);
          resolve();
        };
        const timer = setTimeout(wake, left);
        this.#watchers.add(wake);
      });
    }
  }

  /** Lets through whoever waits at the gate, and whoever comes later. */
  release(gate: string): void {
    this.#open.add(gate);
    for (const response of this.#held.get(gate) ?? []) response.end('open');
    this.#held.delete(gate);
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://ledger');
    if (url.pathname.startsWith('/gate/')) {
      const gate = decodeURIComponent(url.pathname.slice('/gate/'.length));
      if (this.#open.has(gate)) {
        response.end('open');
        return;
      }
      const held = this.#held.get(gate) ?? new Set();
      this.#held.set(gate, held.add(response));
      request.on('close', () => held.delete(response));
      return;
    }
    let body = '';
    for await (const chunk of request) body += chunk;
    this.#entries.push(JSON.parse(body) as LedgerEntry);
    response.end();
    for (const wake of [...this.#watchers]) wake();
  }
}
