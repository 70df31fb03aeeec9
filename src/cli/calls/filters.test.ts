import { expect, it } from 'vitest';
import { ListQuery } from '../../http/wire/schemas.js';
import { FILTER_KEYS } from './filters.js';

it('knows every key that the API filters runs by', () => {
  const other = ['limit', 'cursor', 'why'];
  expect([...FILTER_KEYS].sort()).toEqual(
    Object.keys(ListQuery.shape)
      .filter((key) => !other.includes(key))
      .sort(),
  );
});
