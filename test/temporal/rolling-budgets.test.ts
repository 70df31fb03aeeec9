/**
 * One purse while a deployment rolls: a tree whose parent and children are moved on by workers of two versions of the code,
 * which are killed, end in order and come back. What is spent is told by the steps themselves, to a file that no kill empties.
 */
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { CostRecord } from '../../src/core/cost/cost.js';
import { sumOf } from '../../src/core/cost/sums.js';
import { silentLog } from '../../src/core/log.js';
import type { RunRef } from '../../src/engine.js';
import { startTemporalWorkers, TemporalEngine } from '../../src/temporal/index.js';
import type { WorkerSupervisor } from '../../src/worker/supervision/supervisor.js';
import { Random } from '../crash/random.js';
import { share } from '../share.js';
import { DevServer } from './dev-server.js';
import { Line } from './line.js';
import { describeTemporal } from './required.js';

const CATALOG = 'rolling';
const CHILDREN = 6;
/** Of each child, two in each of its runs. */
const STEPS = 4;
const WAIT_MS = 120_000;
/** A killed worker's turn and attempt come back soon. */
const SOON = { 'history.defaultWorkflowTaskTimeout': '2s' };

const STEPS_CODE = `
import { appendFileSync } from 'node:fs';
import { step, stepContext } from 'perdure';
const spend = (name, amount) => step({
  name,
  options: { startToCloseTimeout: '5s', retry: { initialInterval: '100ms' } },
  fn: async (file) => {
    const { idempotencyKey, attempt, cost } = stepContext();
    const say = (what) =>
      appendFileSync(file, JSON.stringify({ what, amount, idempotencyKey, attempt, pid: process.pid }) + '\\n');
    say('begun');
    await new Promise((resolve) => setTimeout(resolve, 200));
    cost({ amount });
    say('ended');
  },
});
export const pay = spend('pay', '1');
export const tip = spend('tip', '0.25');
`;

/** The newer code also tips at the end of each run that it has begun: the older one can neither make that turn nor run that step. */
const codeOf = (version: 'one' | 'two'): string => `
import { patched, workflow } from 'perdure';
import { pay${version === 'two' ? ', tip' : ''} } from './steps.js';
export const child = workflow({ name: 'child', fn: async ({ file, left }, { control }) => {
  await pay(file);
  await pay(file);
  ${version === 'two' ? "if (patched('tips')) await tip(file);" : ''}
  if (left > 2) return control.continueAsNew({ file, left: left - 2 });
} });
export const parent = workflow({ name: 'parent', fn: async (file) => {
  await Promise.all(Array.from({ length: ${CHILDREN} }, () => child({ file, left: ${STEPS} })));
  return 'done';
} });
export const alone = workflow({ name: 'alone', fn: (file) => pay(file) });
`;

interface Said {
  what: 'begun' | 'ended';
  amount: string;
  idempotencyKey: string;
  attempt: number;
  pid: number;
}

describeTemporal('a budget while a deployment rolls', { timeout: 3 * WAIT_MS }, () => {
  let folder: string;
  let server: DevServer;
  let engine: TemporalEngine;
  let groups: WorkerSupervisor[];
  let killed: Set<number>;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'perdure-rolling-budgets-'));
    for (const version of ['one', 'two'] as const) {
      const flow = join(folder, version, 'flow');
      mkdirSync(flow, { recursive: true });
      writeFileSync(join(flow, 'workflow.js'), codeOf(version));
      writeFileSync(join(flow, 'steps.js'), STEPS_CODE);
    }
    server = await DevServer.start({ config: { 'history.workflowIdReuseMinimalInterval': '0s', ...SOON } });
    engine = await TemporalEngine.open({ settings: settings() });
    killed = new Set();
    groups = [];
  });
  afterEach(async () => {
    await Promise.all(groups.map((workers) => workers.stop(100)));
    await engine.close();
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const settings = () => ({ address: server.address, namespace: server.namespace });

  async function launch(
    version: 'one' | 'two',
    { address }: { address: string } = server,
  ): Promise<WorkerSupervisor> {
    const temporal = { ...settings(), address };
    const workers = startTemporalWorkers({
      ...{ directory: join(folder, version), temporal, catalog: CATALOG, versionName: version },
      ...{ count: 1, spares: 0, resultFormat: 'current', log: silentLog },
    });
    await workers.ready;
    return workers;
  }

  /** One of the groups is killed, and comes back by itself, or is replaced in order. */
  async function disturb(random: Random): Promise<void> {
    const at = random.below(groups.length);
    const workers = groups[at]!;
    if (random.below(3) > 0) {
      for (const pid of workers.pids()) {
        killed.add(pid);
        process.kill(pid, 'SIGKILL');
      }
      return;
    }
    await workers.stop(3_000);
    groups[at] = await launch(at === 0 ? 'one' : 'two');
  }

  const said = (file: string): Said[] =>
    readFileSync(file, 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Said);
  const begun = (file: string) => said(file).filter(({ what }) => what === 'begun');

  async function spending(run: RunRef) {
    const records: (CostRecord & { runId: string })[] = [];
    const { budget } = await engine.cost(run, 'tree', ({ runId, records: ofOne }) =>
      records.push(...ofOne.map((record) => ({ ...record, runId }))),
    );
    return { budget: budget!, records, total: sumOf(records).totals[0]?.amount ?? '0' };
  }

  /** The budget is met, every child has ended or is paused by it, and there is one that is. */
  async function spentIt(run: RunRef, file: string, random: Random): Promise<void> {
    const until = performance.now() + WAIT_MS;
    let disturbAt = performance.now();
    for (;;) {
      const { runs } = await engine.list({ workflowType: 'child', status: 'running' }, { limit: 100 });
      const all = await Promise.all(runs.map((each) => engine.describe(each)));
      const open = all.filter(({ status }) => status === 'running');
      const areHeldBack = open.length > 0 && open.every(({ paused }) => paused?.by === 'budget');
      if (areHeldBack && (await spending(run)).budget.isExceeded) return;
      if (performance.now() > until)
        throw new Error(`not spent: ${JSON.stringify(open)} ${begun(file).length} begun`);
      if (performance.now() >= disturbAt) {
        await disturb(random);
        disturbAt = performance.now() + 1_000 + random.below(3_000);
      }
      await sleep(250);
    }
  }

  /** Each attempt ran once, and a step again only where its worker was killed. */
  function expectNothingTwice(file: string): void {
    const all = begun(file);
    for (const step of new Set(all.map(({ idempotencyKey }) => idempotencyKey))) {
      const attempts = all.filter(({ idempotencyKey }) => idempotencyKey === step);
      const numbers = attempts.map(({ attempt }) => attempt);
      expect(new Set(numbers).size, step).toBe(numbers.length);
      expect(attempts.filter(({ pid }) => !killed.has(pid)).length, step).toBeLessThanOrEqual(1);
    }
  }

  /** To the last digit: what the purse has heard, what the histories tell, and what the steps have said in vain at most. */
  async function expectExact(run: RunRef, file: string): Promise<string> {
    const { budget, total, records } = await spending(run);
    expect(budget.spent).toBe(total);
    const told = new Set(
      records.map(({ runId, activityId, attempt, at }) => `${runId}/${activityId}/${attempt}/${at}`),
    );
    expect(told.size).toBe(records.length);
    const surely = said(file).filter(({ what, pid }) => what === 'ended' && !killed.has(pid));
    const atMost = said(file).filter(({ what }) => what === 'ended');
    const sum = (all: Said[]) => all.reduce((sum, { amount }) => sum + Number(amount), 0);
    expect(Number(total)).toBeGreaterThanOrEqual(sum(surely));
    expect(Number(total)).toBeLessThanOrEqual(sum(atMost));
    return total;
  }

  test.each([
    ['anybody hears the outcome, and the purse has heard what was spent', true],
    ['the purse hears what was spent', false],
  ])(
    'counts an attempt once, in the histories and in the purse, when its worker is killed before %s',
    async (_, isFirstLetThrough) => {
      const file = join(folder, 'said');
      const line = await Line.to(server.port);
      groups.push(await launch('one', line));
      const budget = { amount: '7', currency: 'USD' };
      // The name of the message that the purse is told, after its length.
      const isHeld = line.holdRequests('\x05spent', { isFirstLetThrough });
      const run = await engine.start({
        ...{ workflowType: 'alone', catalog: CATALOG, input: [JSON.stringify(file)], budget },
      });
      await isHeld;
      const isHeard = async () => expect((await spending(run)).budget.spent).toBe('1');
      if (isFirstLetThrough) await vi.waitFor(isHeard, { timeout: WAIT_MS, interval: 100 });
      for (const pid of groups[0]!.pids()) process.kill(pid, 'SIGKILL');
      line.cut();
      expect(await engine.outcome(run, { waitMs: WAIT_MS })).toMatchObject({ status: 'completed' });
      expect(begun(file)).toHaveLength(2);
      const { budget: kept, total } = await spending(run);
      expect([kept.spent, total]).toEqual(['2', '2']);
      await line.stop();
    },
  );

  test.each(share([1], [1, 3]))('is kept to the last digit, holds and goes on (seed %i)', async (seed) => {
    const random = new Random(seed);
    const file = join(folder, 'said');
    appendFileSync(file, '');
    groups.push(await launch('one'));
    const budget = { amount: '7', currency: 'USD' };
    const run = await engine.start({
      ...{ workflowType: 'parent', catalog: CATALOG, input: [JSON.stringify(file)], budget },
    });
    groups.push(await launch('two'));
    for (const more of ['13', '1000']) {
      await spentIt(run, file, random);
      const before = begun(file).length;
      const spent = await expectExact(run, file);
      // Each child has one step under way at most, and a killed one is tried again where it may.
      expect(Number(spent) - Number((await spending(run)).budget.amount)).toBeLessThanOrEqual(CHILDREN);
      for (let times = 0; times < 2; times++) {
        await disturb(random);
        await sleep(2_000);
      }
      expect(begun(file).length).toBe(before);
      await engine.setBudget(run, more);
    }
    const end = performance.now() + WAIT_MS;
    while (performance.now() < end && !(await engine.outcome(run))) {
      await disturb(random);
      await sleep(2_000 + random.below(3_000));
    }
    expect(await engine.outcome(run)).toMatchObject({ status: 'completed' });
    await expectExact(run, file);
    expectNothingTwice(file);
    const pays = new Set(said(file).flatMap((each) => (each.amount === '1' ? each.idempotencyKey : [])));
    expect(pays.size).toBe(CHILDREN * STEPS);
  });
});
