/** The documentation says what is so: its code compiles and runs, its tables are those of the code, and nothing is left out. */
import { execFile } from 'node:child_process';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { transformSync } from 'esbuild';
import * as sdk from 'perdure';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  DEFAULT_HTTP_LIMITS,
  DEFAULT_LIMITS,
  DEFAULT_RUN_TIMEOUT_MS,
  DEFAULT_TRACE_LIMITS,
  MAX_PAGE_BYTES,
  MAX_RUN_TIMEOUT_MS,
} from '../../src/core/bounds/limits.js';
import { TOLD } from '../../src/telemetry/failure-log.js';
import { startSystem } from '../http/system.js';
import { FILES, PAGES, Project, page, ROOT } from './pages.js';

// Each starts a service of several processes, which takes its time on a busy machine.
vi.setConfig({ testTimeout: 90_000 });

const run = promisify(execFile);

let project: Project;
beforeEach(() => {
  project = new Project();
});
afterEach(() => project.remove());

describe('the code of the pages', () => {
  it('compiles, all of it, in strict mode', async () => {
    expect(FILES.length).toBeGreaterThan(15);
    for (const { page: from, path, code } of FILES) {
      const folder = from.replace(/\W/g, '-');
      // Pages that are about something else take the workflow that everybody can start from the examples.
      if (code.includes("'./workflows/order/workflow.js'")) {
        cpSync(join(ROOT, 'examples/order'), join(project.folder, folder, 'workflows/order'), {
          recursive: true,
        });
      }
      project.write(join(folder, path), code);
    }
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
    const { stdout } = await run(process.execPath, [tsc, '-p', project.folder]).catch(
      (error: { stdout: string }) => error,
    );
    expect(stdout).toBe('');
  });

  it('serves workflows, where it puts the service together', async () => {
    const { code } = FILES.find(({ path }) => path === 'server.ts')!;
    project.write('server.js', transformSync(code, { loader: 'ts', format: 'esm' }).code);
    for (const { path, code } of FILES.filter(({ page }) => page === 'README.md')) project.write(path, code);
    const token = 'a-token-of-this-test';
    const child = execFile(process.execPath, ['server.js'], {
      cwd: project.folder,
      env: { ...process.env, PORT: '0', API_AUTH_TOKEN: token },
    });
    try {
      const url = await new Promise<string>((resolve, reject) => {
        let output = '';
        for (const stream of [child.stdout!, child.stderr!]) {
          stream.on('data', (text: string) => {
            output += text;
            const found = /ready \{ url: '([^']+)' \}/.exec(output);
            if (found) resolve(found[1]!);
          });
        }
        child.once('exit', (code) => reject(new Error(`it ended with ${code}:\n${output}`)));
      });
      const post = async (path: string, body: unknown) => {
        const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` };
        const response = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
        return (await response.json()) as Record<string, unknown>;
      };
      const input = { orderId: 'A-1', cents: 1999 };
      const { workflowId } = await post('/workflow/start', { workflowName: 'order', input });
      await post(`/workflow/${workflowId}/signal/approve`, { payload: { by: 'ada' } });
      const result = await fetch(`${url}/workflow/${workflowId}/result?wait=20000`, {
        headers: { authorization: `Bearer ${token}` },
      });
      expect(await result.json()).toMatchObject({ status: 'completed', output: { tracking: 'parcel-A-1' } });
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGTERM');
      expect(await ended).toBe(0);
    } finally {
      child.kill('SIGKILL');
    }
  });
});

describe('nothing is left out:', () => {
  const everything = PAGES.map(({ text }) => text).join('\n');
  const mentioned = (word: string) => new RegExp(`\\b${word}\\b`).test(everything);

  it('what authors import', () => {
    const names = Object.keys(sdk);
    expect(names.length).toBeGreaterThan(30);
    expect(names.filter((name) => !mentioned(name))).toEqual([]);
  });

  it('what is served', async () => {
    const system = await startSystem({ workers: false });
    const paths = system.server.routes
      .filter((route) => !/^HEAD |\/docs\/:asset/.test(route))
      // The pages write a path for the latest run and say that it can be pinned, or the other way round.
      .map((route) =>
        route
          .split(' ')[1]!
          .replace('/runs/:rid', '')
          .replace(/:(\w+)/g, '{$1}'),
      );
    await system.stop();
    const written = everything.replaceAll('/runs/{runId}', '').replaceAll('/runs/{rid}', '');
    expect(paths.length).toBeGreaterThan(25);
    expect([...new Set(paths)].filter((path) => !written.includes(`${path}`))).toEqual([]);
  });
});

describe('limits', () => {
  const count = (value: number) => value.toLocaleString('en-US');
  const size = (bytes: number) => `${bytes / 1024 / 1024} MiB`;
  const seconds = (ms: number) => `${ms / 1000} s`;
  const http = DEFAULT_HTTP_LIMITS;
  const limits = DEFAULT_LIMITS;

  /** Rows of the table, by what they are about. */
  const rows = Object.fromEntries(
    [...page('docs/configuration.md').matchAll(/^\| ([^|]+?) +\| ([^|]+?) +\| ([^|]+?) +\|$/gm)].map(
      ([, what, limit]) => [what!, limit!],
    ),
  );

  it.each<[string, ...string[]]>([
    [
      'request body',
      size(http.bodyBytes),
      `nested ${http.bodyDepth} deep`,
      `${count(http.bodyValues)} values`,
    ],
    ['bodies under way, those above 16 KiB', `${size(http.bodiesBytes)} together`],
    ['answers that wait to be read, above 16 KiB', `${size(http.answersBytes)} together`],
    ['an answer of which its reader takes nothing', seconds(http.stallMs)],
    ['open connections', count(http.connections)],
    ['a page of a history', `about ${size(MAX_PAGE_BYTES)} of events`],
    ['calls that wait for a run', count(http.waitingCalls)],
    ['wrong tokens of one address in a minute', count(http.wrongTokens)],
    ['open streams', count(http.streams)],
    ['a stream whose reader takes nothing', seconds(http.streamStallMs)],
    ['one value: input, result, message', size(limits.payloadBytes)],
    ['all that one turn asks for', size(limits.turnBytes)],
    [
      'history of a run',
      `${count(limits.historyEvents)} events or ${size(limits.historyBytes)}`,
      `from ${count(limits.historyEventsSuggestContinue)} events`,
    ],
    ['steps, timers, children that a run waits for', `${count(limits.pendingPerRun)} together`],
    ['descendants of a workflow started within a minute', count(limits.childStartsPerMinute)],
    ['runs of a chain, by continue-as-new or retry', count(limits.continuationsPerMinute)],
    ['open descendants of a workflow', count(limits.openDescendants)],
    ['signals to a run', count(limits.signalsPerRun), `its ${size(limits.historyBytes)} of history`],
    [
      'updates of a run',
      `${limits.updatesInFlightPerRun} under way`,
      `${count(limits.updatesPerRun)} in all`,
    ],
    ['children of children', `${limits.childDepth} deep`],
    ['closed runs are kept', `${limits.retentionMs / 86_400_000} days`],
    ['a query or an update that no worker answers', seconds(limits.messageTimeoutMs)],
    ['a request that arrives slowly', seconds(http.requestTimeoutMs), seconds(http.headersTimeoutMs)],
    ['a local trace in an answer', size(DEFAULT_TRACE_LIMITS.inlinedBytes)],
    ['failures told one by one in the log', `${TOLD.lines} of each kind in ${seconds(TOLD.withinMs)}`],
  ])('%s', (what, ...limit) => {
    for (const part of limit) expect(rows[what]).toContain(part);
  });

  it('are nowhere else what they are not', () => {
    expect(page('docs/http-api.md')).toContain(
      `milliseconds to wait, 1 to ${count(MAX_RUN_TIMEOUT_MS)}, default ${count(DEFAULT_RUN_TIMEOUT_MS)}`,
    );
    for (const { name, text } of PAGES) expect(text, name).not.toContain('limits.ts');
  });
});
