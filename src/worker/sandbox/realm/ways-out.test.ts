/** Nothing that a workflow can get hold of leads to the process around its sandbox. */
import { expect, test } from 'vitest';
import { share } from '../../../../test/share.js';
import { boxOf, resultOf } from './one-turn.fixture.js';

/** The stack ends at another place of a call each. */
const OFFSETS = share(3, 12);

const LEAVES = [
  'URL',
  'URLSearchParams',
  'TextEncoder',
  'TextDecoder',
  'AbortController',
  'atob',
  'crypto',
  'console',
  'setTimeout',
  'fetch',
];
const wayOut = (from: string) =>
  `const from = ${from}; return typeof from.constructor.constructor('return typeof process')() === 'string' && from.constructor.constructor('return typeof process')();`;

test.each([
  ...LEAVES.flatMap((name) => [name, `Object.getPrototypeOf(${name})`]),
  'new URL("http://a")',
  'new URL("http://a").searchParams',
  'new URL("http://a").searchParams.getAll("x")',
  'new URL("http://a?a=1").searchParams.entries().next().value',
  'new TextEncoder().encode("a")',
  'new TextEncoder().encodeInto("a", new Uint8Array(2))',
  'new AbortController().signal',
  '(() => { const c = new AbortController(); c.abort(); return c.signal.reason; })()',
  'sdk.workflowInfo()',
  'sdk.workflowInfo().startedAt',
  'structuredClone(new Map())',
  ...[
    'new URL("no")',
    'new URLSearchParams([[1]])',
    'new TextDecoder("no")',
    'new TextDecoder("utf-8", { fatal: true }).decode(new Uint8Array([255]))',
    'new TextEncoder().encodeInto("a", 5)',
    'atob("*")',
    'btoa("€")',
    'fetch("x")',
    '(function deep() { try { return deep(); } catch (e) { new URL("no"); } })()',
    '(function deep() { new URL("http://a").searchParams.get("a"); deep(); })()',
    '(function deep() { atob("YQ=="); deep(); })()',
  ].map((bad) => `(() => { try { ${bad}; return {}; } catch (e) { return e; } })()`),
])('%s', (from) => {
  expect(resultOf(boxOf({ code: wayOut(from) }), 'code')).toBe('undefined');
});

// Where the stack ends is a matter of bytes, so each is tried from many depths: in some of them it ends within the host.
test.each([
  'params.get("a")',
  'params.getAll("a")',
  'params.has("a")',
  'params.has("a", "1")',
  'params.delete("b")',
  'params.delete("b", "1")',
  'params.size',
  'params.toString()',
  'url.searchParams',
  'url.href',
  'url.origin',
  'String(url)',
  'JSON.stringify(url)',
  'new URL("http://a").searchParams',
  'URL.canParse("http://a")',
  'new TextEncoder()',
  'encoder.encode("a")',
  'encoder.encoding',
  'decoder.decode(new Uint8Array([97]))',
  'decoder.encoding',
  'btoa("a")',
  'new Intl.DateTimeFormat("en").format(0)',
  'new Date().toLocaleString()',
  '"a".localeCompare("b")',
  'structuredClone({ a: [1] })',
  'sdk.workflowInfo()',
  'crypto.randomUUID()',
  'new AbortController().abort()',
  'console.log("a")',
  'z.object({ a: z.string() }).safeParse({ a: 1 })',
  'new Function("return 1")()',
  'sdk.log.info("a")',
])('a stack that ends within %s', (call) => {
  const body = `
    const url = new URL('http://a/?a=1&c=2'); const params = url.searchParams; const found = new Set();
    const encoder = new TextEncoder(); const decoder = new TextDecoder();
    const around = (depth, fn) => (depth === 0 ? fn() : around(depth - 1, fn));
    for (let offset = 0; offset < ${OFFSETS}; offset++) {
      const deep = () => { ${call}; deep(); };
      try { around(offset, deep); } catch (error) {
        found.add(error.constructor.constructor('return typeof process')());
      }
    }
    return [...found];`;
  expect(resultOf(boxOf({ code: body }), 'code')).toEqual(['undefined']);
});

const MADE_OF_TEXT = [
  'Function',
  '(() => {}).constructor',
  '(class {}).constructor',
  'AsyncFunction',
  'gen.constructor',
  'agen.constructor',
  'proto(AsyncFunction)',
  'proto(gen.constructor)',
  'class extends Function {}',
  'Function.bind(null)',
  '(...texts) => Reflect.construct(AsyncFunction, texts, Function)',
];
const IMPORTS = [
  'import("node:fs")',
  'import("node:fs", { with: { type: "json" } })',
  'import/**/("node:fs")',
  'import //\n ("node:fs")',
  'import <!-- \n ("node:fs")',
  '"\\\\"; import("node:fs")',
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is code in a text
  '`${import("node:fs")}`',
  String.raw`\u0069mport("node:fs")`,
];

test.each(MADE_OF_TEXT)('no import() in what %s makes of a text', (maker) => {
  const body = `
    const Maker = ${maker}; const answers = [];
    for (const code of ${JSON.stringify(IMPORTS)}) {
      // One that is another text from the second time on that it is asked for it.
      let asked = 0;
      for (const text of ['return ' + code, { toString: () => (asked++ === 0 ? '' : 'return ' + code) }]) {
        try {
          let made;
          try { made = new Maker(text); } catch (error) { made = Maker(text); }
          const called = made();
          await (called && called.next ? called.next() : called);
          answers.push('nothing');
        } catch (error) {
          answers.push(error.constructor.constructor('return typeof process')());
        }
      }
    }
    return [...new Set(answers)].sort();`;
  expect(resultOf(boxOf({ code: body }), 'code')).toEqual(['nothing', 'undefined']);
});

test('an error of the host looks like one of its own', () => {
  const body = `const errors = []; for (const fn of [() => new URL('no'), () => atob('*'), () => new TextDecoder('no')]) try { fn(); } catch (e) { errors.push([e instanceof Error, e.name, e.message !== '']); } return errors;`;
  expect(resultOf(boxOf({ code: body }), 'code')).toEqual([
    [true, 'TypeError', true],
    [true, 'InvalidCharacterError', true],
    [true, 'RangeError', true],
  ]);
});
