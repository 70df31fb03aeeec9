/**
 * How quick the dashboard is, in a browser: `npm run figures`, or `npm run figures -- 1000000` for a list over that many runs.
 *
 * Prints two tables for docs/dashboard.md. Time on the clock says as much about what else the machine does; the time that
 * the page's own thread has worked does not.
 */
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { CDPSession, Page } from 'playwright-core';
import { EmbeddedEngine } from '../../src/embedded/index.js';
import { createServer } from '../../src/http/index.js';
import { Traces } from '../../src/trace/index.js';
import type { StartHttp } from '../http/system.js';
import { Dashboard, until } from './dashboard.js';

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const WORKFLOWS = at('../../bench/workflows');
const BULK = at('../../bench/load/bulk-runs.mjs');

const RUNS = Number(process.argv[2] ?? 200_000);
/** Six events each, in a row. */
const STEPS = 8_333;
const ROUNDS = 3;
const FRAMES = 120;

interface Figures {
  /** From the address to the first rows, on the clock and of work. */
  firstMs: number;
  firstWork: number;
  /** Until all of it is there. */
  wholeMs: number;
  wholeWork: number;
  /** Of one frame while ten rows pass in each. */
  frameWork: number;
  heapMb: number;
}

const workOf = async (session: CDPSession): Promise<number> => {
  const { metrics } = await session.send('Performance.getMetrics');
  return 1_000 * metrics.find(({ name }) => name === 'TaskDuration')!.value;
};

/** `isWhole` is an expression in the page. */
async function look(
  dashboard: Dashboard,
  path: string,
  row: string,
  scroller: string,
  isWhole: string,
): Promise<Figures> {
  const context = await dashboard.browser.newContext({ viewport: { width: 1400, height: 860 } });
  const page: Page = await context.newPage();
  const session = await context.newCDPSession(page);
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  const began = performance.now();
  await page.goto(dashboard.url + path);
  await page.locator(row).first().waitFor();
  const [firstMs, firstWork] = [performance.now() - began, await workOf(session)];
  await until(() => page.evaluate(isWhole), Boolean, 'all of it');
  const [wholeMs, wholeWork] = [performance.now() - began, await workOf(session)];
  await page.evaluate(`new Promise((done) => {
    const rows = document.querySelector(${JSON.stringify(scroller)});
    let frames = 0;
    const frame = () => { rows.scrollTop += 300; ++frames < ${FRAMES} ? requestAnimationFrame(frame) : done(); };
    frame();
  })`);
  const frameWork = ((await workOf(session)) - wholeWork) / FRAMES;
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  await context.close();
  return { firstMs, firstWork, wholeMs, wholeWork, frameWork, heapMb: usedSize / 1e6 };
}

/** The round whose first rows came soonest: what the page needs when it is let. */
async function best(measure: () => Promise<Figures>): Promise<Figures> {
  const rounds: Figures[] = [];
  for (let round = 0; round < ROUNDS; round++) rounds.push(await measure());
  return rounds.sort((a, b) => a.firstMs - b.firstMs)[0]!;
}

function print(title: string, rows: [name: string, figures: Figures][]): void {
  const whole = (value: number) => Math.round(value).toLocaleString('en');
  process.stdout.write(`\n${title}\n\n| | first rows | work | all of it | work | a frame | memory |\n`);
  process.stdout.write('| --- | --: | --: | --: | --: | --: | --: |\n');
  for (const [name, { firstMs, firstWork, wholeMs, wholeWork, frameWork, heapMb }] of rows) {
    const cells = [
      `${whole(firstMs)} ms`,
      `${whole(firstWork)} ms`,
      `${whole(wholeMs)} ms`,
      `${whole(wholeWork)} ms`,
    ];
    process.stdout.write(
      `| ${name} | ${cells.join(' | ')} | ${frameWork.toFixed(1)} ms | ${whole(heapMb)} MB |\n`,
    );
  }
}

async function longRun(): Promise<void> {
  const dashboard = await Dashboard.open({ directory: WORKFLOWS });
  try {
    await dashboard.client.workflow('long').start({ steps: STEPS } as never, { workflowId: 'long' });
    await dashboard.client.handle('long').outcome();
    const { runId, historyLength } = await dashboard.client.handle('long').status();
    const count = historyLength.toLocaleString('en');
    const readAll = `document.querySelector('.timeline-tools .muted')?.textContent`;
    const views: [name: string, tab: string, row: string, scroller: string, isWhole: string][] = [
      ['timeline', 'timeline', '.timeline-row', '.timeline-rows', `/ rows$/.test(${readAll})`],
      [
        'steps',
        'steps',
        '.step-row',
        '.lines',
        `document.querySelector('.lines ul')?.offsetHeight >= ${STEPS * 34}`,
      ],
      ['events', 'events', '.event-row', '.lines', `${readAll} === '${count} events'`],
    ];
    const rows: [string, Figures][] = [];
    for (const [name, tab, ...rest] of views) {
      rows.push([name, await best(() => look(dashboard, `/runs/long/${runId}?tab=${tab}`, ...rest))]);
    }
    print(`A run of ${count} events`, rows);
  } finally {
    await dashboard.close();
  }
}

async function longList(): Promise<void> {
  const dataDir = await mkdtemp(join(tmpdir(), 'perdure-figures-'));
  const bulk = spawnSync(process.execPath, [BULK, JSON.stringify({ dataDir, count: RUNS })], {
    stdio: 'inherit',
  });
  if (bulk.status !== 0) throw new Error('the runs could not be made');
  const start: StartHttp = async () => {
    const engine = EmbeddedEngine.open({ dataDir });
    const traces = await Traces.open({ engine, watch: engine, mode: 'on-demand', dataDir });
    const server = createServer({ engine, traces });
    await server.listen({ host: '127.0.0.1', port: 0 });
    const stop = async () => {
      await server.close();
      await traces.close();
      await engine.close();
      await rm(dataDir, { recursive: true, force: true });
    };
    return { server, engine, loseEngine: () => engine.close(), stop };
  };
  const dashboard = await Dashboard.open({ start });
  try {
    const filters = {
      'the newest': '',
      failed: '?state=failed',
      'a rare workflow': '?workflow=rare',
      'a prefix': '?id=invoice-1',
    };
    const rows: [string, Figures][] = [];
    for (const [name, query] of Object.entries(filters)) {
      const measure = () => look(dashboard, `/runs${query}`, '.run-link', '.runs-scroller', 'true');
      rows.push([name, await best(measure)]);
    }
    print(`A list over ${RUNS.toLocaleString('en')} runs`, rows);
  } finally {
    await dashboard.close();
  }
}

await longRun();
await longList();
process.stdout.write(
  `\n${cpus().length} cores (${cpus()[0]!.model}), of which ${loadavg()[0]!.toFixed(1)} were asked for at the end.\n`,
);
