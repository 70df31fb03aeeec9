/** One workflow in which everything happens that a trace shows, and some ends that a run can come to. */
import {
  CancellationScope,
  condition,
  defineSignal,
  defineUpdate,
  getExternalWorkflowHandle,
  patched,
  setHandler,
  sleep,
  workflow,
} from 'perdure';
import { charge, refuse, spend } from './steps.js';

export const greet = workflow({ name: 'greet', fn: async (name: string) => `hello ${name}` });

export const eventful = workflow({
  name: 'eventful',
  fn: async (amount: number, { info }) => {
    let address: string | undefined;
    setHandler(defineSignal<[string]>('address'), (value) => {
      address = value;
    });
    setHandler(defineUpdate<number, [number]>('double'), (value) => value * 2);
    patched('with-greeting');
    const charged = await charge(amount);
    const hello = await greet('you', { workflowId: `${info.runId}-child` });
    const scope = new CancellationScope();
    const given = scope.run(() => sleep('1 hour')).catch(() => {});
    await sleep(5);
    scope.cancel();
    await given;
    await getExternalWorkflowHandle('nobody')
      .signal('anything')
      .catch(() => {});
    await condition(() => address !== undefined);
    return { charged, hello, address };
  },
});

export const refused = workflow({ name: 'refused', fn: async () => refuse() });

export const waiting = workflow({
  name: 'waiting',
  fn: async () => {
    await sleep('1 hour');
  },
});

export const spending = workflow({ name: 'spending', fn: async () => spend() });

export const counting = workflow({
  name: 'counting',
  fn: async (from: number, context) => (from === 0 ? 'done' : context.control.continueAsNew(from - 1)),
});

export const discreet = workflow({
  name: 'discreet',
  options: { disableTrace: true },
  fn: async () => 'secret',
});

/** Poses as a result that says where its trace is. */
export const forging = workflow({
  name: 'forging',
  fn: async (trace: unknown) => ({ output: 'mine', trace }),
});
