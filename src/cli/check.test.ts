import { afterEach, beforeEach, expect, it } from 'vitest';
import { Workplace } from './program.fixture.js';
import { byteSize } from './values.js';

let workplace: Workplace;
beforeEach(() => {
  workplace = new Workplace();
});
afterEach(() => workplace.clear());

it('finds nothing wrong with the data of a server that was stopped, and refuses while it runs', async () => {
  const nothing = workplace.perdure(['check']);
  expect(await nothing.exited).toBe(1);
  expect(nothing.output()).toMatch(/^perdure: there is no database in \.\/\.perdure/);

  const server = await workplace.serve();
  const refused = workplace.perdure(['check']);
  expect(await refused.exited).toBe(1);
  expect(refused.output()).toMatch(/^perdure: the data folder .* is in use by another perdure process/);
  server.child.kill('SIGTERM');
  await server.exited;

  const well = workplace.perdure(['check']);
  expect(await well.exited).toBe(0);
  expect(well.output()).toMatch(/^0 runs in \.\/\.perdure, up to commit \d+: all is well\n$/);
  const json = workplace.perdure(['check', '--json', '--accept-loss']);
  expect(await json.exited).toBe(0);
  expect(JSON.parse(json.output())).toMatchObject({ problems: [], isLossAccepted: false });
});

it.each([
  ['0', 0],
  ['1024', 1_024],
  ['500 MB', 500_000_000],
  ['1GiB', 2 ** 30],
  ['64kib', 65_536],
])('reads the size %s', (text, bytes) => expect(byteSize(text)).toBe(bytes));

it.each(['', 'x', '1.5GB', '-1', '1 TB', '99999999999999 GiB'])('refuses the size "%s"', (text) => {
  expect(() => byteSize(text)).toThrow('It must be a size');
});
