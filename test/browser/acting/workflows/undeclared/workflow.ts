/** Has a handler that its definition does not declare. */
import { condition, defineSignal, setHandler, workflow } from 'perdure';

const go = defineSignal<[number]>('go');

export default workflow({
  name: 'undeclared',
  fn: async () => {
    let given: number | undefined;
    setHandler(go, (number) => {
      given = number;
    });
    await condition(() => given !== undefined);
    return given;
  },
});

/** Waits with a time limit, which is a timer beside the handler. */
export const hurried = workflow({
  name: 'hurried',
  fn: async () => {
    let given: number | undefined;
    setHandler(go, (number) => {
      given = number;
    });
    await condition(() => given !== undefined, '3 days');
    return given;
  },
});
