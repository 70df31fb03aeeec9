/** The commands on a Temporal cluster, as an operator meets them: real processes of the built program. */
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { type Program, Workplace } from '../../src/cli/program.fixture.js';
import { DevServer } from './dev-server.js';
import { describeTemporal } from './required.js';
import { canMakeCertificates, makeCertificates, TlsFront } from './tls-front.js';

const WORKFLOWS = fileURLToPath(new URL('workflows', import.meta.url));
const API_KEY = 'an-api-key-that-nobody-may-see';

describeTemporal('the commands', () => {
  let cluster: DevServer;
  let workplace: Workplace;
  beforeAll(async () => {
    cluster = await DevServer.start();
  });
  afterAll(() => cluster?.stop());
  beforeEach(() => {
    workplace = new Workplace();
  });
  afterEach(() => workplace.clear());

  const environment = (more: Record<string, string> = {}) => ({
    PERDURE_ENGINE: 'temporal',
    TEMPORAL_ADDRESS: cluster.address,
    ...more,
  });
  const workers = ['--workflows', WORKFLOWS, '--workers', '1'];

  async function call(server: { url: string }, path: string, body?: unknown, headers = {}) {
    const response = await fetch(
      server.url + path,
      body === undefined
        ? {}
        : {
            method: 'POST',
            headers: { 'content-type': 'application/json', ...headers },
            body: JSON.stringify(body),
          },
    );
    // biome-ignore lint/suspicious/noExplicitAny: answers are looked into by name
    return { status: response.status, headers: response.headers, body: (await response.json()) as any };
  }
  const run = (server: { url: string }, workflowName: string, input: unknown, more = {}, headers = {}) =>
    call(server, '/workflow/run', { workflowName, input, ...more }, headers);

  it('serve: starts while the cluster is away, says so, and serves as soon as it is there', async () => {
    await cluster.kill();
    const program = workplace.perdure(['serve', '--port', '0', ...workers], environment());
    const [, url] = await program.says(/"url":"([^"]+)".*"perdure listens"/);
    const server = { url: url! };
    await program.says(/the Temporal cluster is away; calls are answered with 503/);
    expect((await call(server, '/health')).status).toBe(200);
    expect((await call(server, '/ready')).status).toBe(503);
    const refused = await run(server, 'echo', 1);
    expect(refused).toMatchObject({ status: 503, body: { error: 'EngineUnavailableError' } });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);

    await cluster.restart();
    await program.says(/"perdure is ready"/);
    expect((await call(server, '/ready')).status).toBe(200);
    expect(await run(server, 'echo', 1)).toMatchObject({ status: 200, body: { output: 1 } });
    program.child.kill('SIGTERM');
    expect(await program.exited).toBe(0);
  });

  it('serve: several give the same answers, and run what workers elsewhere can', async () => {
    const servers = await Promise.all([1, 2].map(() => workplace.serve([], environment())));
    const [one, other] = servers as [Program & { url: string }, Program & { url: string }];
    const worker = workplace.perdure(['worker', WORKFLOWS, '--workers', '1'], environment());
    await worker.says(/addresses of callbacks begin with http:\/\/127\.0\.0\.1:3001: set --public-url/);
    await worker.says(/the workers are ready/);

    const key = { 'idempotency-key': 'one for both' };
    const first = await run(one, 'echo', { a: 1 }, {}, key);
    expect(first).toMatchObject({ status: 200, body: { status: 'completed', output: { a: 1 } } });
    expect((await run(other, 'echo', { a: 1 }, {}, key)).body).toEqual(first.body);
    expect((await run(other, 'echo', { a: 2 }, {}, key)).status).toBe(422);
    const { workflowId } = first.body;
    expect((await run(other, 'echo', 1, { workflowId })).status).toBe(409);
    for (const path of ['status', 'result', 'history', 'input']) {
      const [here, there] = await Promise.all(
        servers.map((each) => call(each, `/workflow/${workflowId}/${path}`)),
      );
      expect(there!.body).toEqual(here!.body);
    }
    expect((await call(other, '/workflow/catalog')).body).toEqual(
      (await call(one, '/workflow/catalog')).body,
    );
    worker.child.kill('SIGTERM');
    expect(await worker.exited).toBe(0);
    expect((await call(one, '/workflow/catalog')).body.workflows.length).toBeGreaterThan(0);
  });

  it('serve: a ticket for a stream is good at any of several', async () => {
    const secret = environment({ API_AUTH_TOKEN: 'the-same-at-both', HOST: '127.0.0.1' });
    const servers = await Promise.all([
      workplace.serve(workers, secret),
      workplace.serve(['--catalog', 'other'], secret),
    ]);
    const [one, other] = servers as [Program & { url: string }, Program & { url: string }];
    const authorization = { authorization: 'Bearer the-same-at-both' };
    const { body } = await run(one, 'echo', 1, {}, authorization);
    const stream = `/workflow/${body.workflowId}/history/stream`;
    const { ticket } = (await call(one, `/workflow/${body.workflowId}/stream-ticket`, {}, authorization))
      .body;
    expect((await fetch(`${other.url}${stream}`)).status).toBe(401);
    const opened = await fetch(`${other.url}${stream}?ticket=${ticket}`);
    expect(opened.status).toBe(200);
    expect(await opened.text()).toContain('WORKFLOW_EXECUTION_COMPLETED');
    expect((await fetch(`${other.url}${stream}?ticket=${ticket}`)).status).toBe(401);
  });

  it('serve: has the metrics of calls and of the process, and none of an engine that is elsewhere', async () => {
    const server = await workplace.serve([], environment());
    const text = await (await fetch(`${server.url}/metrics`)).text();
    expect(text).toContain('perdure_http_request_duration_seconds');
    expect(text).toContain('process_cpu_seconds_total');
    expect(text).not.toMatch(/perdure_(commit|turn|runs|queue)/);
  });

  it('dev: says what to try, and where state is', async () => {
    const program = workplace.perdure(['dev', WORKFLOWS, '--port', '0'], environment());
    await program.says(/state is kept in Temporal at 127\.0\.0\.1:\d+, namespace default/);
    const [, url] = await program.says(/at (http:\S+)/);
    expect((await run({ url: url! }, 'echo', 'x')).body).toMatchObject({ output: 'x' });
    program.child.kill('SIGINT');
    expect(await program.exited).toBe(0);
  });

  it('tell nobody the API key: no line of the log, and no step', async () => {
    const secrets = { TEMPORAL_API_KEY: API_KEY, TEMPORAL_TLS: 'false', LOG_LEVEL: 'debug' };
    const server = await workplace.serve(workers, environment(secrets));
    const { body } = await run(server, 'tellsEnvironment', null);
    expect(body.output).not.toEqual([]);
    expect(body.output.filter((name: string) => /^(TEMPORAL|PERDURE|API_AUTH)/.test(name))).toEqual([]);
    server.child.kill('SIGTERM');
    expect(await server.exited).toBe(0);
    expect(server.output()).not.toContain(API_KEY);
  });

  it.skipIf(!canMakeCertificates)('reach a cluster that wants a certificate of them', async () => {
    const files = makeCertificates(workplace.folder);
    const front = await TlsFront.start(cluster.port, files);
    try {
      const tls = {
        TEMPORAL_ADDRESS: front.address,
        TEMPORAL_TLS_SERVER_CA_CERT_PATH: files.ca,
        TEMPORAL_TLS_SERVER_NAME: 'perdure.test',
      };
      const own = { TEMPORAL_TLS_CLIENT_CERT_PATH: files.cert, TEMPORAL_TLS_CLIENT_KEY_PATH: files.key };
      const server = await workplace.serve(workers, environment({ ...tls, ...own }));
      expect((await run(server, 'echo', 'over TLS')).body).toMatchObject({ output: 'over TLS' });
      const stranger = workplace.perdure(['serve', '--port', '0'], environment(tls));
      await stranger.says(/the Temporal cluster is away/);
    } finally {
      await front.stop();
    }
  });
});
