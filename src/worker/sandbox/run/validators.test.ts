import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { Validators } from './validators.js';

const cutOff = (validators: Validators, updateId: string) => {
  const ask = () => validators.ask(updateId, () => runInNewContext('for (;;);'));
  expect(() => runInNewContext('ask()', { ask }, { timeout: 20 })).toThrow('timed out');
};

it('knows by the next turn whose validator was cut off, and blames no other', () => {
  const validators = new Validators();
  expect(validators.ask('quick', () => 1)).toBe(1);
  expect(() =>
    validators.ask('refuses', () => {
      throw new Error('no');
    }),
  ).toThrow('no');
  cutOff(validators, 'endless');
  validators.turnBegins();
  validators.turnBegins();
  expect(['quick', 'refuses', 'endless'].filter((id) => validators.isEndless(id))).toEqual(['endless']);
});
