import {
  condition,
  defineQuery,
  defineSignal,
  defineUpdate,
  getExternalWorkflowHandle,
  type StepOptions,
  setHandler,
  workflow,
  z,
} from 'perdure';
import { settled } from '../shared/described.js';
import { busy, hasty, throwing } from './steps.js';

const steps = { busy, hasty };
type Call = Parameters<typeof busy>[0] & { step: keyof typeof steps; options?: StepOptions };

/** Calls a step that says when it wants to be tried again, with other options if some are given. */
export const callBusy = workflow({
  name: 'callBusy',
  fn: async ({ step, options, ...input }: Call) => settled(steps[step].with(options ?? {})(input)),
});

export const passThrown = workflow({
  name: 'passThrown',
  fn: async (kind: Parameters<typeof throwing>[0]) => throwing(kind),
});

const payload = z.object({ by: z.string().trim(), times: z.number().default(2) });
const note = defineSignal('note', { inputSchema: payload.refine(({ by }) => by !== 'eve', 'not eve') });
const noted = defineQuery('noted', {
  inputSchema: z.object({ upper: z.boolean().default(true) }).prefault({}),
  outputSchema: z.array(z.string()),
});
const close = defineUpdate('close', {
  inputSchema: payload,
  outputSchema: z.object({ by: z.string(), state: z.enum(['closed', 'open']).default('closed') }),
});

export const takesNotes = workflow({
  name: 'takesNotes',
  signals: { note },
  queries: { noted },
  updates: { close },
  fn: async () => {
    const notes: string[] = [];
    let isClosed = false;
    setHandler(note, ({ by, times }) => {
      notes.push(by.repeat(times));
    });
    setHandler(noted, ({ upper }) => (upper ? notes.map((text) => text.toUpperCase()) : notes));
    setHandler(close, ({ by }) => {
      isClosed = true;
      return { by };
    });
    await condition(() => isClosed);
    return notes;
  },
});

/** Sends a note as it is, without the definition that would check it. */
export const sendsNote = workflow({
  name: 'sendsNote',
  fn: async ({ to, payloads }: { to: string; payloads: unknown[] }) => {
    const { signal } = getExternalWorkflowHandle(to);
    for (const sent of payloads) await signal('note', sent);
  },
});
