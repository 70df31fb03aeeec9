import { beforeEach, expect, test } from 'vitest';
import type { Log } from '../../core/log.js';
import type { RunFilter, RunPage, WorkerDescription } from '../../engine.js';
import { Attendance } from './attendance.js';

const worker = (id: string, catalog = 'main'): WorkerDescription => ({
  ...{ id, catalog, host: null, pid: null, connectedAt: null, lastSeenAt: 0 },
  ...{ workflows: null, turns: null, steps: null, state: null },
  version: { id: '0123456789abcdef', name: 'release-7' },
});

let present: WorkerDescription[] | Error;
let open: string[];
let lines: string[];
let looks = 0;
let attendance: Attendance;

const log = Object.fromEntries(
  ['debug', 'info', 'warn', 'error'].map((level) => [
    level,
    (_fields: object, message: string) => lines.push(`${level}: ${message}`),
  ]),
) as unknown as Log;

const cluster = {
  async workers() {
    looks++;
    if (present instanceof Error) throw present;
    return present;
  },
  async list({ catalog, status }: RunFilter): Promise<RunPage> {
    expect(status).toBe('running');
    return { runs: open.filter((each) => each === catalog).map(() => ({}) as never), nextCursor: null };
  },
};

/** What is said at a look. */
async function look(): Promise<string[]> {
  lines = [];
  await attendance.look();
  return lines;
}

beforeEach(() => {
  present = [];
  open = [];
  lines = [];
  attendance = new Attendance(cluster, 'main', log);
});

test('workers that come and go are told of once, with their code', async () => {
  present = [worker('1@here')];
  expect(await look()).toEqual(['info: worker 1@here has come (catalog "main", version release-7)']);
  expect(await look()).toEqual([]);
  present = [worker('2@here'), worker('1@here', 'other')];
  expect(await look()).toEqual([
    'info: worker 2@here has come (catalog "main", version release-7)',
    'info: worker 1@here has come (catalog "other", version release-7)',
    'info: worker 1@here is gone: it polls no more (catalog "main", version release-7)',
  ]);
});

test('open runs that nobody polls for are warned of once, when it is no restart, and again when somebody has come and left', async () => {
  const warning = expect.stringMatching(/^warn: catalog "main" has open runs and no worker/);
  expect([await look(), await look(), await look()].flat()).toEqual([]);
  open = ['main'];
  expect([await look(), await look(), await look()].flat()).toEqual([warning]);
  present = [worker('1@here')];
  expect(await look()).toHaveLength(1);
  present = [];
  expect(await look()).toEqual([expect.stringMatching(/is gone/)]);
  expect([await look(), await look()].flat()).toEqual([warning]);
});

test('a catalog that was once served is missed as well', async () => {
  present = [worker('1@here'), worker('2@here', 'other')];
  await look();
  present = [worker('1@here')];
  open = ['other'];
  await look();
  expect(await look()).toEqual([expect.stringMatching(/^warn: catalog "other"/)]);
});

test('a cluster that is away is looked at again, and nothing is taken for gone meanwhile', async () => {
  attendance = new Attendance(cluster, 'main', log, 1);
  present = [worker('1@here')];
  await look();
  present = new Error('away');
  lines = [];
  attendance.start();
  const already = looks;
  await expect.poll(() => looks).toBeGreaterThan(already + 2);
  expect(lines).toEqual([]);
  present = [worker('1@here'), worker('2@here')];
  await expect.poll(() => lines).toEqual([expect.stringMatching(/2@here has come/)]);
  attendance.stop();
});
