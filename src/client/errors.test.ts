import { expect, it } from 'vitest';
import { ERROR_STATUS, type ErrorName } from '../core/errors.js';
import { API_ERRORS, apiError } from './errors.js';
import * as exported from './index.js';

it('has a class for every error of the table, exported under its name', () => {
  expect(Object.keys(API_ERRORS).sort()).toEqual(Object.keys(ERROR_STATUS).sort());
  for (const name of Object.keys(ERROR_STATUS) as ErrorName[]) {
    const made = apiError({ error: name, message: 'm' }, { status: ERROR_STATUS[name] });
    expect(made).toBeInstanceOf((exported as unknown as Record<string, never>)[name]);
    expect(made).toMatchObject({ name, status: ERROR_STATUS[name], message: 'm' });
  }
});
