import { condition, defineQuery, defineSignal, defineUpdate, setHandler, sleep, workflow } from 'perdure';
import type { Place } from '../shared/ledger.js';
import { flakyOnce } from '../shared/steps/failing.js';
import { gated, note } from '../shared/steps/recording.js';

const finish = defineSignal('finish');

class OverdrawnError extends Error {
  override readonly name = 'OverdrawnError';
}

/** An account whose balance changes by updates. */
export const account = workflow({
  name: 'account',
  fn: async (input) => {
    const place = input as Place | undefined;
    let balance = 100;
    let validated = 0;
    let done = false;
    const order: unknown[] = [];
    setHandler(
      defineUpdate<number, [number]>('withdraw'),
      (amount) => {
        if (amount === 13) throw new OverdrawnError('thirteen brings bad luck');
        balance -= amount;
        return balance;
      },
      {
        validator: (amount) => {
          validated++;
          if (amount > balance) throw new OverdrawnError(`only ${balance} left`);
        },
      },
    );
    setHandler(defineUpdate<unknown, [unknown]>('deposit'), async (value) => {
      order.push(value);
      balance += Number(await note({ ...place!, value }));
      return { balance };
    });
    setHandler(defineUpdate<string>('transfer'), async () => gated({ ...place!, gate: place!.key }));
    setHandler(defineUpdate<string>('stumble'), async () => {
      await flakyOnce({ ...place!, failures: 9, error: 'DeclinedError' });
      return 'unreachable';
    });
    setHandler(defineUpdate<unknown, [unknown]>('order'), (value) => {
      order.push(value);
      return order.length;
    });
    setHandler(defineUpdate<void>('nothing'), () => {});
    setHandler(defineUpdate<unknown>('unspeakable'), () => ({ list: [1, 10n] }));
    setHandler(defineUpdate<never>('hang'), async () => {
      await condition(() => false);
      throw new Error('unreachable');
    });
    setHandler(defineUpdate<string>('closing'), () => {
      done = true;
      return 'closed the account';
    });
    setHandler(defineUpdate<string>('actingValidator'), () => 'handled', {
      validator: () => {
        void sleep(1);
      },
    });
    setHandler(finish, () => {
      done = true;
    });
    setHandler(defineQuery<unknown>('state'), () => ({ balance, validated, order }));
    await condition(() => done);
    return { balance, order };
  },
});

/** Its update handler stands before its first turn has run: updates sent right after the start find it. */
export const updatedEarly = workflow({
  name: 'updatedEarly',
  fn: async () => {
    let value: unknown;
    setHandler(defineUpdate<string, [unknown]>('set'), (given) => {
      value = given;
      return `set to ${given}`;
    });
    await condition(() => value !== undefined);
    return value;
  },
});

/** Waits for the updates under way before it goes. */
export const politeClose = workflow({
  name: 'politeClose',
  fn: async (input) => {
    const place = input as Place;
    let running = 0;
    let accepted = 0;
    setHandler(defineUpdate<string>('work'), async () => {
      running++;
      accepted++;
      const result = await gated({ ...place, gate: place.key });
      running--;
      return result;
    });
    await condition(() => accepted > 0 && running === 0);
    return accepted;
  },
});
