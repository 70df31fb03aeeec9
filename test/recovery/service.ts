/** The real program as a child process: started by its command, spoken to over HTTP, ended by signals. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isAlive } from '../is-alive.js';

const PROGRAM = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
const WAIT_MS = 50_000;
/** A machine that others keep busy may take long to start a server and its workers. */
const READY_MS = 110_000;

export interface ServiceOptions {
  workflows: string;
  dataDir: string;
  port: number;
  workers?: number;
  /** More of the command line. */
  flags?: string[];
  /** More of the environment. */
  env?: NodeJS.ProcessEnv;
}

export interface ResultBody {
  workflowId: string;
  runId: string;
  status: string;
  output: unknown;
  error: unknown;
}

export class Service {
  readonly #process: ChildProcess;
  #output = '';

  private constructor(readonly options: ServiceOptions) {
    const { workflows, dataDir, port, workers = 1, flags = [], env = {} } = options;
    this.#process = spawn(
      process.execPath,
      [
        PROGRAM,
        'serve',
        '--workflows',
        workflows,
        '--port',
        String(port),
        '--data',
        dataDir,
        '--workers',
        String(workers),
        ...flags,
      ],
      { stdio: ['ignore', 'pipe', 'pipe'], env: { ...plainEnvironment(), ...env } },
    );
    for (const stream of [this.#process.stdout!, this.#process.stderr!]) {
      stream.on('data', (chunk) => {
        this.#output += chunk;
      });
    }
  }

  /** Resolves when the service takes calls and its workers have registered. */
  static async start(options: ServiceOptions): Promise<Service> {
    const service = Service.launch(options);
    const hasWorkflows = async () => {
      const response = await service.#get('/workflow/catalog');
      return ((await response.json()) as { workflows: unknown[] }).workflows.length > 0;
    };
    await service.#until(hasWorkflows).catch(async (error: unknown) => {
      // Whoever asked for it never gets it, so nobody else would end it.
      await service.kill();
      throw error;
    });
    return service;
  }

  /** Only begins to start: for those that are expected to refuse. */
  static launch(options: ServiceOptions): Service {
    return new Service(options);
  }

  get pid(): number {
    return this.#process.pid!;
  }

  get isGone(): boolean {
    return this.#process.exitCode !== null || this.#process.signalCode !== null;
  }

  get output(): string {
    return this.#output;
  }

  /** Its worker processes. */
  workerPids(): number[] {
    return descendants(this.pid);
  }

  /** Resolves when so many workers are connected, those that stand by included. */
  untilWorkers(count: number): Promise<void> {
    return this.#until(async () => {
      const text = await (await this.#get('/metrics')).text();
      return Number(/^perdure_workers (\d+)$/m.exec(text)?.[1]) >= count;
    });
  }

  async startRun(workflowName: string, input: unknown): Promise<string> {
    const response = await this.post('/workflow/start', { workflowName, input });
    const body = (await response.json()) as { workflowId: string };
    if (response.status !== 200) throw new Error(`start: ${response.status} ${JSON.stringify(body)}`);
    return body.workflowId;
  }

  async run(workflowName: string, input: unknown): Promise<ResultBody> {
    const response = await this.post('/workflow/run', { workflowName, input });
    return (await response.json()) as ResultBody;
  }

  async result(workflowId: string): Promise<ResultBody> {
    const response = await this.#get(`/workflow/${encodeURIComponent(workflowId)}/result?wait=${WAIT_MS}`);
    if (response.status !== 200)
      throw new Error(`result of ${workflowId}: ${response.status} ${await response.text()}`);
    return (await response.json()) as ResultBody;
  }

  async status(workflowId: string): Promise<unknown> {
    return (await this.#get(`/workflow/${encodeURIComponent(workflowId)}/status`)).json();
  }

  /** The status and body of any call. */
  async call(path: string, body?: unknown): Promise<{ status: number; body: Record<string, unknown> }> {
    const response = await (body === undefined ? this.#get(path) : this.post(path, body));
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  }

  async metrics(): Promise<string> {
    return (await this.#get('/metrics')).text();
  }

  async kill(): Promise<void> {
    this.#process.kill('SIGKILL');
    await this.exit();
  }

  async stop(): Promise<number | null> {
    this.#process.kill('SIGTERM');
    return this.exit();
  }

  async exit(): Promise<number | null> {
    if (!this.isGone) await once(this.#process, 'exit');
    return this.#process.exitCode;
  }

  #get(path: string): Promise<Response> {
    return fetch(`http://127.0.0.1:${this.options.port}${path}`);
  }

  post(path: string, body: unknown): Promise<Response> {
    return fetch(`http://127.0.0.1:${this.options.port}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  }

  async #until(holds: () => Promise<boolean>): Promise<void> {
    const deadline = Date.now() + READY_MS;
    while (Date.now() < deadline) {
      if (this.#process.exitCode !== null) throw new Error(`the service ended: ${this.#output}`);
      if (await holds().catch(() => false)) return;
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
    throw new Error(`the service did not get ready: ${this.#output}`);
  }
}

/** Settings of whoever runs the tests are none of theirs, nor is the wish of a CI for colours. */
export function plainEnvironment(): NodeJS.ProcessEnv {
  const own = ['PORT', 'HOST', 'NODE_ENV', 'API_AUTH_TOKEN', 'CI', 'FORCE_COLOR'];
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !own.includes(name) && !name.startsWith('PERDURE_')),
  );
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

export function temporaryFolder(): { path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'perdure-recovery-'));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

/** Resolves when none of the processes is there any more. */
export async function untilGone(pids: Iterable<number>): Promise<void> {
  const deadline = Date.now() + READY_MS;
  const left = new Set(pids);
  while (left.size > 0) {
    for (const pid of left) if (!isAlive(pid)) left.delete(pid);
    if (left.size === 0) return;
    if (Date.now() > deadline) throw new Error(`left behind: ${[...left].join(', ')}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

function descendants(pid: number): number[] {
  const children: number[] = [];
  try {
    for (const task of readdirSync(`/proc/${pid}/task`)) {
      const text = readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').trim();
      if (text !== '') children.push(...text.split(' ').map(Number));
    }
  } catch {
    return [];
  }
  return children.flatMap((child) => [child, ...descendants(child)]);
}
