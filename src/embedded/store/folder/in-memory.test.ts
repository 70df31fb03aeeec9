/** An engine whose database is in memory: as any other, and gone with it unless somebody keeps an image. */
import { readdirSync } from 'node:fs';
import { afterEach, expect, it } from 'vitest';
import { EmbeddedEngine, InMemory } from '../../index.js';
import { CATALOG, complete, ScriptedWorker, step } from '../../scripted-worker.fixture.js';

const engines: EmbeddedEngine[] = [];
afterEach(async () => {
  for (const engine of engines.splice(0)) await engine.close();
});

function open(image?: Buffer): EmbeddedEngine {
  const engine = EmbeddedEngine.open({ dataDir: new InMemory(image) });
  engines.push(engine);
  return engine;
}

const start = (engine: EmbeddedEngine, workflowId: string) =>
  engine.start({ workflowType: 'flow', catalog: CATALOG, input: ['1'], workflowId });

it('an image has what was committed until then, and an engine goes on from there', async () => {
  const before = readdirSync('.').sort();
  const first = open();
  const worker = new ScriptedWorker(first);
  const run = await start(first, 'a');
  await worker.turn(step(1));
  await worker.next('step');
  const image = first.image();
  await start(first, 'later');

  const second = open(image);
  await expect(second.describe({ workflowId: 'later' })).rejects.toMatchObject({
    name: 'WorkflowNotFoundError',
  });
  const another = new ScriptedWorker(second);
  const again = await another.next('step');
  expect(again).toMatchObject({ runId: run.runId, attempt: 2 });
  another.completeStep(again);
  await another.turn(complete());
  expect(await second.outcome(run, { waitMs: 5_000 })).toMatchObject({ status: 'completed' });
  expect(await first.outcome(run)).toBeUndefined();
  expect(readdirSync('.').sort()).toEqual(before);
});

it('is no database to back up', async () => {
  await expect(open().backup()).rejects.toMatchObject({ name: 'NotSupportedByEngineError' });
});
