import { expect, it } from 'vitest';
import { apiSegment, idOfPageParam, pageParam } from './ids.js';

it.each(['.', '..', '~.', '~..', '~~.'])('writes %j with one more tilde, and reads it back', (id) => {
  expect(pageParam(id)).toBe(`~${id}`);
  expect(idOfPageParam(pageParam(id))).toBe(id);
});

it.each(['a', '...', '~', '~a', 'a.', '.a', '~...', '/.'])('leaves %j as it is', (id) => {
  expect(pageParam(id)).toBe(id);
  expect(idOfPageParam(id)).toBe(id);
});

it('writes ids for the API so that no URL takes them for folders', () => {
  for (const id of ['.', '..', 'a/b', '%2E']) {
    const { pathname } = new URL(`http://x/workflow/${apiSegment(id)}/status`);
    expect(pathname.split('/')).toHaveLength(4);
  }
});
