/** One call over HTTP, and what its caller knows afterwards. Nothing is sent a second time behind the caller's back. */
import { Agent, request } from 'node:http';
import type { Outcome } from './operations.js';

/** Longer than anything here takes: a call that meets it hangs. */
const TIMEOUT_MS = 70_000;

export interface Answer {
  outcome: Exclude<Outcome, 'underWay'>;
  status: number;
  text: string;
}

export class Wire {
  readonly #agent = new Agent({ keepAlive: true });

  /** `onHang` is told of calls that nobody has answered. */
  constructor(
    readonly port: number,
    private readonly onHang: (call: string) => void,
  ) {}

  /** Whoever waits for an answer hears that the connection is gone. */
  cut(): void {
    this.#agent.destroy();
  }

  get(path: string): Promise<Answer> {
    return this.#call('GET', path);
  }

  send(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    return this.#call(method, path, body === undefined ? undefined : JSON.stringify(body), headers);
  }

  #call(method: string, path: string, body?: string, headers: Record<string, string> = {}): Promise<Answer> {
    return new Promise((resolve) => {
      const call = request({
        agent: this.#agent,
        host: '127.0.0.1',
        port: this.port,
        method,
        path,
        headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
        timeout: TIMEOUT_MS,
      });
      call.on('timeout', () => {
        const message = `${method} ${path}: no answer in ${TIMEOUT_MS} ms`;
        this.onHang(message);
        call.destroy(new Error(message));
      });
      call.on('error', (error: NodeJS.ErrnoException) => {
        resolve({
          outcome: error.code === 'ECONNREFUSED' ? 'unsent' : 'unclear',
          status: 0,
          text: error.message,
        });
      });
      call.on('response', (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (chunk) => {
          text += chunk;
        });
        const { statusCode: status = 0 } = response;
        response.on('end', () => resolve({ outcome: outcomeOf(status), status, text }));
        response.on('error', () => resolve({ outcome: 'unclear', status: 0, text: 'cut off' }));
      });
      call.end(body);
    });
  }
}

/** 422 is said of an update that was accepted and then failed; 507 promises that nothing is kept. */
function outcomeOf(status: number): Answer['outcome'] {
  if (status >= 200 && status < 300) return 'acknowledged';
  if (status === 507 || (status >= 400 && status < 500 && status !== 422 && status !== 408)) return 'refused';
  return 'unclear';
}
