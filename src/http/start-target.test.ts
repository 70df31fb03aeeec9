/** A start is judged by a catalog that was read a moment ago, and refused by none but the one of now. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { Catalog } from '../core/catalog.js';
import { silentLog } from '../core/log.js';
import type { Engine } from '../engine.js';
import { catalogOf } from './scripted-engine.fixture.js';
import { StartTargets } from './start-target.js';
import { PayloadCheck } from './wire/payload-check.js';

const taking = (type: string): Catalog => catalogOf('default', [{ name: 'order', inputSchema: { type } }]);

let recent: Catalog | undefined;
let now: Catalog | undefined;
let asked: ('recent' | 'now')[];
beforeEach(() => {
  asked = [];
});

function resolve(name: string, input: unknown): Promise<string> {
  const came = performance.now();
  const engine = {
    catalog: async (_name: string, since: number) => {
      const age = since >= came ? 'now' : 'recent';
      asked.push(age);
      return age === 'recent' ? recent : now;
    },
  };
  return new StartTargets(engine as unknown as Engine, new PayloadCheck(silentLog)).resolve(
    'default',
    name,
    input,
  );
}

it('asks once where what was so a moment ago takes it', async () => {
  recent = taking('string');
  now = taking('number');
  expect(await resolve('order', 'a')).toBe('order');
  expect(asked).toEqual(['recent']);
});

describe('is not refused by what has changed since', () => {
  it.each<[string, Catalog | undefined]>([
    ['a catalog that nobody had registered', undefined],
    ['a workflow that it did not have', catalogOf('default', [{ name: 'other' }])],
    ['a schema that did not take it', taking('number')],
  ])('%s', async (_what, before) => {
    recent = before;
    now = taking('string');
    expect(await resolve('order', 'a')).toBe('order');
    expect(asked).toEqual(['recent', 'now']);
  });
});

it('is refused by the catalog of now', async () => {
  recent = taking('number');
  now = recent;
  await expect(resolve('order', 'a')).rejects.toMatchObject({ name: 'ValidationError' });
  await expect(resolve('refund', 'a')).rejects.toMatchObject({ name: 'UnsupportedWorkflowError' });
  now = catalogOf('default', [{ name: 'other' }]);
  await expect(resolve('order', 'a')).rejects.toMatchObject({ name: 'UnsupportedWorkflowError' });
  recent = undefined;
  now = undefined;
  await expect(resolve('order', 1)).rejects.toMatchObject({ name: 'CatalogNotAvailableError' });
});

it('goes to what an alias stands for now', async () => {
  recent = catalogOf('default', [{ name: 'payV1', aliases: ['pay'] }]);
  now = catalogOf('default', [{ name: 'payV1' }, { name: 'payV2', aliases: ['pay'] }]);
  expect(await resolve('pay', null)).toBe('payV2');
  expect(await resolve('payV1', null)).toBe('payV1');
});
