/** The service on Temporal as a program embeds it: a dev server of its own, and worker processes that poll it. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLog } from '../../src/core/log.js';
import { createServer } from '../../src/http/index.js';
import { startTemporalWorkers, TemporalEngine } from '../../src/temporal/index.js';
import { Traces } from '../../src/trace/index.js';
import { DevServer } from '../temporal/dev-server.js';
import { GRACE_MS, type StartHttp, WORKFLOWS } from './system.js';

export const startTemporalSystem: StartHttp = async (options = {}) => {
  const { token, corsOrigins, resultFormat = 'current', directory = WORKFLOWS } = options;
  const cluster = await DevServer.start();
  const dataDir = await mkdtemp(join(tmpdir(), 'perdure-http-'));
  const settings = { address: cluster.address, namespace: cluster.namespace };
  const engine = await TemporalEngine.open({ settings, limits: options.engineLimits });
  const limits = { closeGraceMs: 300, ...options.limits };
  const traces = await Traces.open({ engine, mode: 'on-demand', dataDir });
  const server = createServer({ engine, token, corsOrigins, limits, traces });
  await server.listen({ host: '127.0.0.1', port: 0 });
  const workers =
    options.workers === false
      ? undefined
      : startTemporalWorkers({
          directory,
          temporal: settings,
          catalog: 'default',
          count: 1,
          resultFormat,
          log: silentLog,
        });
  await workers?.ready;
  return {
    server,
    engine,
    loseEngine: () => cluster.kill(),
    async stop() {
      const closed = server.close();
      await workers?.stop(GRACE_MS);
      await closed;
      await traces.close();
      await engine.close();
      await cluster.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
};
