/**
 * Where held steps wait. A step that is under way has a request open here, so that "it has begun and waits" is a fact;
 * the request is answered when the script releases the step, and closed by the step when it is aborted.
 *
 * Where there is a budget, attempts of all steps say here that they have begun, and are told how many did: an attempt
 * that an engine has held back has not, whether or not it has a number.
 */
import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

interface Hold {
  runId: string;
  site: number;
  response: ServerResponse;
}

export interface Begun {
  runId: string;
  site: number;
}

export class Holds {
  readonly #held = new Set<Hold>();
  readonly #begun: Begun[] = [];
  readonly #changes = new EventEmitter().setMaxListeners(0);
  readonly #server = createServer((request, response) => this.#arrived(request, response));

  static async start(): Promise<Holds> {
    const holds = new Holds();
    holds.#server.listen(0, '127.0.0.1');
    await once(holds.#server, 'listening');
    return holds;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  isHeld(runId: string, site: number): boolean {
    for (const hold of this.#held) if (hold.runId === runId && hold.site === site) return true;
    return false;
  }

  /** Attempts of steps of these runs, in the order in which they began. */
  begun(runIds: ReadonlySet<string>): Begun[] {
    return this.#begun.filter(({ runId }) => runIds.has(runId));
  }

  /** Lets the steps at that statement go on. */
  release(runId: string, site: number, how: 'return' | 'throw'): void {
    for (const hold of [...this.#held]) {
      if (hold.runId !== runId || hold.site !== site) continue;
      this.#held.delete(hold);
      hold.response.end(how);
    }
    this.#changes.emit('change', runId);
  }

  /** Lets everything of a run go on that is still there. */
  releaseRun(runId: string): void {
    for (const hold of [...this.#held]) if (hold.runId === runId) this.release(runId, hold.site, 'return');
  }

  /** Calls `changed` when a step of any run begins or ends to wait; returns the function that stops it. */
  watch(changed: (runId: string) => void): () => void {
    this.#changes.on('change', changed);
    return () => this.#changes.off('change', changed);
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #arrived(request: IncomingMessage, response: ServerResponse): void {
    const [, runId, site, attempt] = request.url!.split('/');
    if (attempt === 'begun') {
      const begun = { runId: runId!, site: Number(site) };
      this.#begun.push(begun);
      const attempts = this.begun(new Set([begun.runId])).filter((each) => each.site === begun.site);
      response.end(String(attempts.length));
      return;
    }
    const hold: Hold = { runId: runId!, site: Number(site), response };
    this.#held.add(hold);
    response.on('close', () => {
      this.#held.delete(hold);
      this.#changes.emit('change', runId);
    });
    this.#changes.emit('change', runId);
  }
}
