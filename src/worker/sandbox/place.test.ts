/** Where a worker stands, and in which language it speaks, is nothing that a workflow sees. */
import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';

const HOST = new URL('../../../dist/worker/sandbox/host.js', import.meta.url).href;

/** Each with what it is in UTC and en-US. */
const EXPRESSIONS: [string, unknown][] = [
  ['new Date(0).getHours()', 0],
  [
    '[new Date(1e12).getFullYear(), new Date(1e12).getMonth(), new Date(1e12).getDate(), new Date(1e12).getDay(), new Date(1e12).getMinutes()]',
    [2001, 8, 9, 0, 46],
  ],
  ['new Date(1e12).getTimezoneOffset()', 0],
  ['new Date(1e12).getYear()', 101],
  ['new Date(2020, 0, 31, 12).toISOString()', '2020-01-31T12:00:00.000Z'],
  ['new Date(99, 0).toISOString()', '1999-01-01T00:00:00.000Z'],
  ['new Date(2021, 2, 14, 2, 30).toISOString()', '2021-03-14T02:30:00.000Z'],
  ['new Date("2020-01-31T12:00").toISOString()', '2020-01-31T12:00:00.000Z'],
  ['new Date("2020-01-31T12:00:01.5").toISOString()', '2020-01-31T12:00:01.500Z'],
  ['new Date("2020-01-31T12:00+02:00").toISOString()', '2020-01-31T10:00:00.000Z'],
  ['new Date("2020-01-31").toISOString()', '2020-01-31T00:00:00.000Z'],
  ['new Date("2020-01-31 12:00").toISOString()', '2020-01-31T12:00:00.000Z'],
  ['new Date("2021-03-14 02:30").toISOString()', '2021-03-14T02:30:00.000Z'],
  ['new Date("Jan 31, 2020 12:00").toISOString()', '2020-01-31T12:00:00.000Z'],
  ['new Date("1/31/2020").toISOString()', '2020-01-31T00:00:00.000Z'],
  ['new Date("1/31/2020, 3:05:00 PM").toISOString()', '2020-01-31T15:05:00.000Z'],
  ['new Date("31 January 2020 12:00 EST").toISOString()', '2020-01-31T17:00:00.000Z'],
  ['new Date("Fri, 31 Jan 2020 12:00:00 GMT").toISOString()', '2020-01-31T12:00:00.000Z'],
  ['new Date("Fri Jan 31 2020 12:00:00 GMT+0200 (Central)").toISOString()', '2020-01-31T10:00:00.000Z'],
  ['Date.parse("2020-01-31T12:00")', Date.UTC(2020, 0, 31, 12)],
  ['String(new Date("nonsense"))', 'Invalid Date'],
  ['String(new Date(1e12))', 'Sun Sep 09 2001 01:46:40 GMT+0000 (Coordinated Universal Time)'],
  ['new Date(String(new Date(1e12))).getTime()', 1e12],
  ['new Date(1e12).toDateString()', 'Sun Sep 09 2001'],
  ['new Date(1e12).toTimeString()', '01:46:40 GMT+0000 (Coordinated Universal Time)'],
  ['new Date(-1e14).toDateString()', 'Thu Feb 15 -1199'],
  ['new Date(1e12).toLocaleString()', '9/9/2001, 1:46:40 AM'],
  ['new Date(1e12).toLocaleDateString()', '9/9/2001'],
  ['new Date(1e12).toLocaleTimeString()', '1:46:40 AM'],
  ['new Date(1e12).toLocaleDateString("de-DE")', '9.9.2001'],
  ['new Date(1e12).toLocaleString("de-DE", { timeZone: "Asia/Tokyo" })', '9.9.2001, 10:46:40'],
  ['new Date(1e12).toLocaleDateString(undefined, { weekday: "long" })', 'Sunday'],
  [
    '(() => { const d = new Date(0); d.setHours(5); d.setDate(3); d.setFullYear(1999, 1); return d.toISOString(); })()',
    '1999-02-03T05:00:00.000Z',
  ],
  ['Date().slice(0, 15)', 'Thu Jan 01 1970'],
  ['new Date(new Date(5)).getTime()', 5],
  ['new Date(new String("2020-01-31T12:00")).getTime()', Date.UTC(2020, 0, 31, 12)],
  ['new Intl.DateTimeFormat().resolvedOptions().timeZone', 'UTC'],
  ['new Intl.DateTimeFormat().resolvedOptions().locale', 'en-US'],
  ['new Intl.DateTimeFormat().format(1e12)', '9/9/2001'],
  ['new Intl.DateTimeFormat().format()', '1/1/1970'],
  ['Intl.DateTimeFormat("xx").resolvedOptions().locale', 'en-US'],
  ['new Intl.DateTimeFormat([], { timeZone: "Asia/Tokyo", timeStyle: "short" }).format(0)', '9:00 AM'],
  ['new Intl.NumberFormat().format(1234.5)', '1,234.5'],
  ['Intl.NumberFormat("de").format(1234.5)', '1.234,5'],
  ['new Intl.NumberFormat() instanceof Intl.NumberFormat', true],
  ['new Intl.PluralRules().resolvedOptions().locale', 'en'],
  ['new Intl.Collator().resolvedOptions().locale', 'en-US'],
  ['new Intl.ListFormat().format(["a", "b"])', 'a and b'],
  ['new Intl.RelativeTimeFormat().format(-1, "day")', '1 day ago'],
  ['new Intl.DisplayNames(undefined, { type: "region" }).of("DE")', 'Germany'],
  ['(1234.5).toLocaleString()', '1,234.5'],
  ['(1234n).toLocaleString()', '1,234'],
  ['[1234.5, new Date(1e12)].toLocaleString()', '1,234.5,9/9/2001, 1:46:40 AM'],
  ['new Float64Array([1234.5]).toLocaleString()', '1,234.5'],
  ['["z", "ä", "a"].sort((a, b) => a.localeCompare(b))', ['a', 'ä', 'z']],
  ['"i".toLocaleUpperCase()', 'I'],
  ['"i".toLocaleUpperCase("tr")', 'İ'],
  ['"I".toLocaleLowerCase()', 'i'],
];

/** Evaluates the expressions in the sandbox of a process that is told to be elsewhere. */
function seenFrom(env: Record<string, string>): { inside: unknown[]; outside: unknown[] } {
  const code = `"use strict"; exports.default = require('perdure').workflow({ name: 'test', fn: () => [${EXPRESSIONS.map(([text]) => text).join(',')}] });`;
  const started = { workflowType: 'test', workflowId: 'w', catalog: 'c', input: [], attempt: 1 };
  const ids = { firstExecutionRunId: 'r', originalExecutionRunId: 'r' };
  const task = {
    ...{
      kind: 'turn',
      turnId: 1,
      runId: 'r',
      workflowId: 'w',
      workflowType: 'test',
      catalog: 'c',
      startedAt: 1,
    },
    events: [
      { id: 1, at: 1, type: 'WORKFLOW_EXECUTION_STARTED', attributes: { ...started, ...ids } },
      { id: 2, at: 1, type: 'WORKFLOW_TASK_SCHEDULED', attributes: { attempt: 1 } },
    ],
    ...{ historyLength: 2, continueAsNewSuggested: false, updates: [], queries: [], readOnly: false },
  };
  const bundle = { workflowType: 'test', filename: 'w.ts', exportName: 'default', stateless: false, code };
  const program = `
    import { createSandbox } from ${JSON.stringify(HOST)};
    const nothing = () => {};
    const log = { debug: nothing, info: nothing, warn: nothing, error: nothing };
    const box = createSandbox({ workflows: [${JSON.stringify(bundle)}], cacheSize: 1, log });
    const answer = box.runTurn(${JSON.stringify(task)});
    const outside = [new Date(0).getHours(), (1234.5).toLocaleString()];
    console.log(JSON.stringify({ inside: JSON.parse(answer.commands[0].result ?? JSON.stringify([answer.commands[0].failure.message])), outside }));`;
  const output = execFileSync(process.execPath, ['--input-type=module', '-e', program], {
    env: { PATH: process.env.PATH, ...env },
    encoding: 'utf8',
  });
  return JSON.parse(output) as { inside: unknown[]; outside: unknown[] };
}

const expected = EXPRESSIONS.map(([, value]) => value);
/** Newer versions of the data put a narrow space where older ones have an ordinary one. */
const ordinary = (values: unknown[]): unknown =>
  JSON.parse(JSON.stringify(values).replaceAll('\u202f', ' ')) as unknown;

test.each([
  [{ TZ: 'UTC', LC_ALL: 'en_US.UTF-8' }, [0, '1,234.5']],
  [{ TZ: 'Asia/Tokyo', LC_ALL: 'de_DE.UTF-8', LANG: 'de_DE.UTF-8' }, [9, '1.234,5']],
  [{ TZ: 'America/New_York', LC_ALL: 'tr_TR.UTF-8', LANG: 'tr_TR.UTF-8' }, [19, '1.234,5']],
])('in a process with %j', (env, around) => {
  const { inside, outside } = seenFrom(env);
  expect(ordinary(inside)).toEqual(expected);
  // Steps are in the process itself, which stays as its operator set it up.
  expect(outside).toEqual(around);
});
