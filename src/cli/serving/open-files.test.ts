import { expect, it } from 'vitest';
import { allowedConnections } from './open-files.js';

it.each([
  [Number.POSITIVE_INFINITY, 16_000],
  [1_048_576, 16_000],
  [4_096, 3_226],
  [1_024, 769],
  [256, 154],
  [20, 10],
])('of %d descriptors connections may take %d', (openFiles, connections) => {
  expect(allowedConnections(openFiles)).toBe(connections);
});
