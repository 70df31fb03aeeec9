import {
  allHandlersFinished,
  condition,
  createCallback,
  defineQuery,
  defineSignal,
  defineUpdate,
  log,
  setHandler,
  sleep,
  uuid4,
  workflow,
  z,
} from 'perdure';
import { invite, note } from '../stepping/steps.js';

/** Waits for what it is told to wait for, and tells when it was. */
export const patient = workflow({
  name: 'patient',
  inputSchema: z.object({ waits: z.array(z.string()) }),
  fn: async ({ waits }) => {
    const times = [new Date().toISOString()];
    for (const wait of waits) {
      await sleep(wait);
      times.push(new Date().toISOString());
    }
    return times;
  },
});

/** A hundred steps, and a year in between. */
export const year = workflow({
  name: 'year',
  fn: async () => {
    let count = 0;
    for (let i = 0; i < 100; i++) {
      count = await note(`${i}`);
      await sleep('3.65 days');
    }
    return count;
  },
});

const approve = defineSignal<[{ by: string }]>('approve');
const stage = defineQuery<string>('stage');
const rename = defineUpdate<string, [string]>('rename');

export const approval = workflow({
  name: 'approval',
  signals: { approve: { inputSchema: z.object({ by: z.string() }) } },
  queries: { stage: {} },
  updates: { rename: { inputSchema: z.string().min(1) } },
  fn: async (input: { name: string; within?: string }) => {
    let { name } = input;
    let approvedBy: string | undefined;
    setHandler(approve, ({ by }) => {
      approvedBy = by;
    });
    setHandler(stage, () => (approvedBy === undefined ? 'waiting' : 'approved'));
    setHandler(
      rename,
      async (to) => {
        await sleep('1 hour');
        const from = name;
        name = to;
        if (to === 'nobody') throw new Error('there is no such name');
        return from;
      },
      {
        validator: (to) => {
          if (to === name) throw new Error('that is the name already');
        },
      },
    );
    log.info('waits for somebody', { name });
    if (input.within === undefined) await condition(() => approvedBy !== undefined);
    else await condition(() => approvedBy !== undefined, input.within);
    await condition(allHandlersFinished);
    return { name, approvedBy: approvedBy ?? null };
  },
});

/** Waits for what nobody can send. */
export const hopeless = workflow({
  name: 'hopeless',
  fn: async () => {
    await condition(() => false);
  },
});

export const identified = workflow({ name: 'identified', aliases: ['named'], fn: async () => uuid4() });

/** Waits for two outsiders, each at an address of its own. */
export const calledBack = workflow({
  name: 'calledBack',
  fn: async () => {
    const [one, other] = [createCallback<string>(), createCallback<string>()];
    await invite({ one: one.url, other: other.url });
    return Promise.all([one.result, other.result]);
  },
});
