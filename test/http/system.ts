/** The service as a program embeds it: `createServer` on a real engine, with worker processes behind it. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { HttpLimits, Limits } from '../../src/core/bounds/limits.js';
import { silentLog } from '../../src/core/log.js';
import type { ResultFormat } from '../../src/core/run/run.js';
import { EmbeddedEngine } from '../../src/embedded/index.js';
import type { Engine } from '../../src/engine.js';
import { createServer, type HttpServer } from '../../src/http/index.js';
import { attachWorkerLink } from '../../src/link/server.js';
import { Traces } from '../../src/trace/index.js';
import { startWorkers } from '../../src/worker/supervision/supervisor.js';

export const WORKFLOWS = fileURLToPath(new URL('workflows', import.meta.url));
export const GRACE_MS = 50;

export interface SystemOptions {
  token?: string;
  corsOrigins?: string[];
  limits?: Partial<HttpLimits>;
  engineLimits?: Partial<Limits>;
  resultFormat?: ResultFormat;
  /** Folder of workflows; those of the contract by default. */
  directory?: string;
  /** Without workers nothing is ever registered, and nothing runs. */
  workers?: boolean;
}

export interface HttpSystem {
  server: HttpServer;
  engine: Engine;
  /** As a crash or a broken network does it: what holds the runs is gone. */
  loseEngine(): Promise<void>;
  stop(): Promise<void>;
}

export type StartHttp = (options?: SystemOptions) => Promise<HttpSystem>;

/** On the embedded engine. */
export const startSystem: StartHttp = async (options = {}) => {
  const { token, corsOrigins, resultFormat = 'current', directory = WORKFLOWS } = options;
  const dataDir = await mkdtemp(join(tmpdir(), 'perdure-http-'));
  const engine = EmbeddedEngine.open({ dataDir, limits: options.engineLimits });
  const limits = { closeGraceMs: 300, ...options.limits };
  const traces = await Traces.open({ engine, watch: engine, mode: 'on-demand', dataDir });
  const server = createServer({ engine, token, corsOrigins, limits, traces });
  const link = attachWorkerLink(server.raw, engine, { authorize: () => true, log: silentLog });
  await server.listen({ host: '127.0.0.1', port: 0 });
  const workers =
    options.workers === false
      ? undefined
      : startWorkers({
          directory,
          serverUrl: server.url,
          catalog: 'default',
          count: 1,
          resultFormat,
          log: silentLog,
        });
  await workers?.ready;
  if (workers) await registered(engine);
  return {
    server,
    engine,
    loseEngine: () => engine.close(),
    async stop() {
      const closed = server.close();
      await workers?.stop(GRACE_MS);
      await link.close();
      await closed;
      await traces.close();
      await engine.close();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
};

const REGISTER_MS = 110_000;

async function registered(engine: EmbeddedEngine): Promise<void> {
  const deadline = performance.now() + REGISTER_MS;
  while ((await engine.catalog('default')) === undefined) {
    if (performance.now() > deadline) throw new Error(`no worker has registered within ${REGISTER_MS} ms`);
    await new Promise(setImmediate);
  }
}
