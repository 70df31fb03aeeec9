/** How often the cluster is asked for a catalog, and how old what is answered may be. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { RECENT_CATALOG_MS } from '../../core/catalog.js';
import type { Cluster } from '../cluster/connection.js';
import { MEMO } from '../cluster/conventions.js';
import type { Runs } from '../reading/runs.js';
import { Catalogs } from './catalogs.js';

/** The names of the workflows that are registered now; undefined before anybody registered. */
let registered: string[] | undefined;
let looks: number;
let catalogs: Catalogs;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
  registered = ['order'];
  looks = 0;
  const runs = {
    lookAny: async () => {
      looks++;
      const runId = registered?.join();
      // What the cluster knew when it was asked.
      await Promise.resolve();
      if (runId === undefined) return undefined;
      return { workflowId: 'default', runId, catalog: 'default', memo: { [MEMO.registration]: {} } };
    },
    firstEvent: async ({ runId }: { runId: string }) => {
      const workflows = runId.split(',').map((name) => ({ entry: { name, aliases: [] }, settings: {} }));
      return { attributes: { input: [JSON.stringify({ workflows, resultFormat: 'current' })] } };
    },
  };
  catalogs = new Catalogs({} as Cluster, runs as unknown as Runs);
});
afterEach(() => {
  vi.useRealTimers();
});

const recent = () => catalogs.get('default', performance.now() - RECENT_CATALOG_MS);
const names = async (age?: 'recent') =>
  (await (age === 'recent' ? recent() : catalogs.get('default')))?.workflows.map(({ entry }) => entry.name);

it('is looked at once in a second for those whom what was so then will do', async () => {
  expect(await names('recent')).toEqual(['order']);
  registered = ['order', 'refund'];
  vi.advanceTimersByTime(999);
  expect(await names('recent')).toEqual(['order']);
  expect(looks).toBe(1);
  vi.advanceTimersByTime(1);
  expect(await names('recent')).toEqual(['order', 'refund']);
  expect(looks).toBe(2);
});

it('is looked at each time for the others, which makes it recent', async () => {
  expect(await names()).toEqual(['order']);
  registered = ['order', 'refund'];
  expect(await names()).toEqual(['order', 'refund']);
  expect(await names('recent')).toEqual(['order', 'refund']);
  expect(looks).toBe(2);
});

it('is looked at again where there was none for who came after that', async () => {
  registered = undefined;
  expect(await names('recent')).toBeUndefined();
  registered = ['order'];
  expect(await names()).toEqual(['order']);
});

it('is looked at again for who came after a look began that is still under way', async () => {
  const lookUnderWay = names();
  registered = ['order', 'refund'];
  vi.advanceTimersByTime(10);
  expect(await names()).toEqual(['order', 'refund']);
  expect(await lookUnderWay).toEqual(['order']);
  expect(looks).toBe(2);
});

it('is the same object while nothing has changed', async () => {
  const before = await recent();
  vi.advanceTimersByTime(1_000);
  expect(await recent()).toBe(before);
  expect(await catalogs.get('default')).toBe(before);
});

it('is looked at once for who would take what was so a moment ago, and then wants what was so when he came', async () => {
  const came = performance.now();
  vi.advanceTimersByTime(1);
  expect(await catalogs.get('default', came - RECENT_CATALOG_MS)).toBe(await catalogs.get('default', came));
  expect(looks).toBe(1);
});
