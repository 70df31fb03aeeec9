/** A real engine and a real server in this process, a worker that the test drives, and readers of streams. */
import { EventEmitter, once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import type { HttpLimits } from '../../src/core/bounds/limits.js';
import type { Log } from '../../src/core/log.js';
import type { EmbeddedEngine } from '../../src/embedded/index.js';
import { CATALOG, Folder, ScriptedWorker } from '../../src/embedded/scripted-worker.fixture.js';
import type { Engine, HistoryOptions, RunRef, RunSelector } from '../../src/engine.js';
import { createServer, type HttpServer } from '../../src/http/index.js';

export interface StageOptions {
  token?: string;
  limits?: Partial<HttpLimits>;
  log?: Log;
}

export class Stage {
  readonly folder = new Folder();
  readonly engine: EmbeddedEngine;
  readonly worker: ScriptedWorker;
  readonly server: HttpServer;
  /** Calls of `history` that the server made, each of which reads the database. */
  reads = 0;
  /** Of them, those that are waiting for an event now. */
  waiting = 0;
  /** What the next reads fail with. */
  broken: Error | undefined;
  #readers = new Set<StreamReader>();

  private constructor(private readonly options: StageOptions) {
    this.engine = this.folder.open();
    this.worker = new ScriptedWorker(this.engine);
    this.server = createServer({ engine: this.#counted(), ...options });
  }

  static async open(options: StageOptions = {}): Promise<Stage> {
    const stage = new Stage(options);
    await stage.server.listen({ host: '127.0.0.1', port: 0 });
    return stage;
  }

  #counted(): Engine {
    const history = async (selector: RunSelector, options: HistoryOptions) => {
      this.reads++;
      if (this.broken) throw this.broken;
      const isWaiting = (options.waitMs ?? 0) > 0;
      if (isWaiting) this.waiting++;
      try {
        return await this.engine.history(selector, options);
      } finally {
        if (isWaiting) this.waiting--;
      }
    };
    return new Proxy(this.engine, {
      get: (engine, name: keyof Engine) =>
        name === 'history' ? history : (engine[name] as (...args: unknown[]) => unknown).bind(engine),
    });
  }

  start(workflowId: string, input = 'null'): Promise<RunRef> {
    return this.engine.start({ workflowType: 'flow', catalog: CATALOG, input: [input], workflowId });
  }

  async historyOf(run: RunSelector): Promise<string[]> {
    const { events } = await this.engine.history(run, { afterEventId: 0, limit: 100_000 });
    return events.map(({ id, type }) => `${id} ${type}`);
  }

  headers(): Record<string, string> {
    return this.options.token === undefined ? {} : { authorization: `Bearer ${this.options.token}` };
  }

  read(path: string, options: ReaderOptions = {}): StreamReader {
    const { port } = new URL(this.server.url);
    const reader = new StreamReader(Number(port), path, {
      ...options,
      headers: { ...this.headers(), ...options.headers },
    });
    this.#readers.add(reader);
    void reader.closed.then(() => this.#readers.delete(reader));
    return reader;
  }

  async close(): Promise<void> {
    for (const reader of this.#readers) reader.hangUp();
    await this.server.close();
    await this.folder.remove();
  }
}

export interface Frame {
  id?: string;
  event?: string;
  data?: string;
  comment?: string;
}

export interface ReaderOptions {
  headers?: Record<string, string>;
  /** Hangs up after so many bytes of the body, wherever that is. */
  bytes?: number;
  /** Reads nothing of the body until told. */
  isPaused?: boolean;
}

/** A reader of one stream that takes the format at its word. */
export class StreamReader {
  readonly frames: Frame[] = [];
  readonly closed: Promise<void>;
  readonly #request: ClientRequest;
  readonly #response: Promise<IncomingMessage>;
  readonly #changes = new EventEmitter().setMaxListeners(0);
  eventCount = 0;
  #text = '';
  #bytes = 0;
  #isClosed = false;
  /** Whether the server ended the stream in order. */
  isComplete = false;

  constructor(port: number, path: string, options: ReaderOptions) {
    this.#request = request({ port, path, host: '127.0.0.1', headers: options.headers, agent: false });
    this.#response = once(this.#request, 'response').then(([response]) => response as IncomingMessage);
    this.#response.catch(() => {});
    this.#request.on('error', () => {});
    this.closed = new Promise((resolve) => {
      this.#request.once('close', () => {
        this.#isClosed = true;
        this.#changes.emit('change');
        resolve();
      });
    });
    this.#request.on('response', (response: IncomingMessage) => {
      if (options.isPaused) response.pause();
      response.on('error', () => {});
      response.on('end', () => {
        this.isComplete = true;
      });
      response.on('data', (chunk: Buffer) => {
        const left = (options.bytes ?? Number.POSITIVE_INFINITY) - this.#bytes;
        this.#bytes += chunk.length;
        this.#take(chunk.subarray(0, Math.max(0, left)).toString('latin1'));
        if (left <= chunk.length) this.hangUp();
      });
      if (options.isPaused) response.pause();
    });
    this.#request.end();
  }

  get response(): Promise<IncomingMessage> {
    return this.#response;
  }

  async status(): Promise<number> {
    return (await this.#response).statusCode!;
  }

  /** The body of an answer that is no stream. */
  async json(): Promise<Record<string, unknown>> {
    await this.closed;
    return JSON.parse(Buffer.from(this.#text, 'latin1').toString()) as Record<string, unknown>;
  }

  hangUp(): void {
    this.#request.destroy();
  }

  async resume(): Promise<void> {
    (await this.#response).resume();
  }

  of(event: string): Frame[] {
    return this.frames.filter((frame) => frame.event === event);
  }

  /** `<id> <type>` of every event that has come. */
  get events(): string[] {
    return this.of('history').flatMap(({ data }) =>
      (JSON.parse(data!) as { eventId: string; eventTypeName: string }[]).map(
        ({ eventId, eventTypeName }) => `${eventId} ${eventTypeName}`,
      ),
    );
  }

  get lastId(): string | undefined {
    return this.frames.findLast(({ id }) => id !== undefined)?.id;
  }

  get done(): unknown {
    const frame = this.of('done')[0];
    return frame && JSON.parse(frame.data!);
  }

  /** Resolves when it holds; rejects when the stream has ended and it does not. */
  async until(holds: (reader: this) => boolean): Promise<this> {
    while (!holds(this)) {
      if (this.#isClosed) throw new Error(`the stream ended with ${JSON.stringify(this.frames)}`);
      await once(this.#changes, 'change');
    }
    return this;
  }

  #take(text: string): void {
    this.#text += text;
    for (let end = this.#text.indexOf('\n\n'); end >= 0; end = this.#text.indexOf('\n\n')) {
      // Bytes until a frame is whole: a character may be cut in two.
      const frame = parseFrame(Buffer.from(this.#text.slice(0, end), 'latin1').toString());
      this.frames.push(frame);
      if (frame.event === 'history') this.eventCount += (JSON.parse(frame.data!) as unknown[]).length;
      this.#text = this.#text.slice(end + 2);
    }
    this.#changes.emit('change');
  }
}

function parseFrame(text: string): Frame {
  const frame: Frame = {};
  for (const line of text.split(/\r\n|\r|\n/)) {
    const [, field, value] = /^(id|event|data|): (.*)$/s.exec(line) ?? [];
    if (value === undefined) throw new Error(`not a line of a stream: ${JSON.stringify(line)}`);
    const name = field === '' ? 'comment' : (field as keyof Frame);
    if (name in frame) throw new Error(`a second "${name}" in ${JSON.stringify(text)}`);
    frame[name] = value;
  }
  return frame;
}
