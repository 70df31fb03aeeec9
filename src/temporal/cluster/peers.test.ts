import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { loadPeer, MissingPeerError } from './peers.js';

function notFound(message: string): Error {
  return Object.assign(new Error(message), { code: 'ERR_MODULE_NOT_FOUND' });
}

test('a package that is not installed: the error names it, and the command that installs all of them', async () => {
  const error = await loadPeer(() =>
    Promise.reject(notFound("Cannot find package '@temporalio/worker' imported from /app/worker.js")),
  ).catch((thrown: unknown) => thrown as Error);

  expect(error).toBeInstanceOf(MissingPeerError);
  const { message } = error as Error;
  expect(message).toMatch(/needs the package @temporalio\/worker, which is not installed/);
  const command = /Run: (npm install .*)$/.exec(message)?.[1];
  const installed = command?.split(' ').slice(2).sort();
  expect(installed).toEqual(
    ['activity', 'client', 'common', 'proto', 'worker', 'workflow'].map(
      (name) => `@temporalio/${name}@~1.24.0`,
    ),
  );
  // The page for those who change over says the same.
  const page = readFileSync(new URL('../../../docs/temporal.md', import.meta.url), 'utf8');
  expect(page).toContain(command);
});

test.each([
  ['another module that is missing', notFound("Cannot find module './worker.js' imported from /app/main.js")],
  ['what a package throws as it loads', new Error('@temporalio/worker has no binary for this platform')],
])('%s is thrown as it is', async (_, error) => {
  await expect(loadPeer(() => Promise.reject(error))).rejects.toBe(error);
});

test('what is there is given', async () => {
  await expect(loadPeer(() => Promise.resolve('loaded'))).resolves.toBe('loaded');
});
