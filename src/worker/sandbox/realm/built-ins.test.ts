/** No run can change what another one sees of JavaScript itself, of this package or of zod. */
import { describe, expect, test } from 'vitest';
import { boxOf, resultOf } from './one-turn.fixture.js';

test('all that can be reached is frozen, by a walk of its own', () => {
  const walk = `
    const open = []; const seen = new Set();
    const visit = (value, path) => {
      if ((typeof value !== 'object' && typeof value !== 'function') || value === null || seen.has(value)) return;
      seen.add(value);
      if (!Object.isFrozen(value) && !own.has(value)) open.push(path);
      visit(proto(value), path + '.__proto__');
      for (const key of Reflect.ownKeys(value)) {
        const { value: held, get, set } = Object.getOwnPropertyDescriptor(value, key);
        const name = path + '.' + String(key);
        visit(held, name); visit(get, 'get ' + name); visit(set, 'set ' + name);
      }
    };
    const segments = new Intl.Segmenter().segment('a');
    const samples = { gen, 'gen()': gen(), agen, 'agen()': agen(), async: async () => {}, array: [].values(), map: new Map().keys(),
      set: new Set().values(), string: ''[Symbol.iterator](), matches: ''.matchAll(/./g), segments, segment: segments[Symbol.iterator](),
      error: new Error(), url: new URL('http://a'), params: new URLSearchParams(), signal: new AbortController().signal,
      encoder: new TextEncoder(), decoder: new TextDecoder(), args: (function () { return arguments; })(), promise: Promise.resolve(),
      number: Object(1), symbol: Object(Symbol()), big: Object(1n), boolean: Object(true), text: Object(''), regexp: /./, date: new Date(), };
    // These belong to this run.
    const own = new Set([globalThis, samples, ...Object.values(samples), gen.prototype, agen.prototype]);
    const theGlobal = new Function('return this')();
    for (const key of Reflect.ownKeys(theGlobal)) {
      const { value, get, set } = Object.getOwnPropertyDescriptor(theGlobal, key);
      visit(value, String(key)); visit(get, 'get ' + String(key)); visit(set, 'set ' + String(key));
    }
    visit(samples, 'samples');
    for (const [name, value] of Object.entries(sdk)) if (name !== 'z') visit(value, name);
    if (!Object.isFrozen(theGlobal)) open.push('globalThis');
    return [open, seen.size];`;
  const [open, count] = resultOf(boxOf({ walk }), 'walk') as [string[], number];
  expect(open).toEqual([]);
  expect(count).toBeGreaterThan(1_000);
});

/** What one run does, and what another would see of it. */
const CHANGES: [string, string][] = [
  ['Function.prototype.call = () => 1', '(() => 2).call()'],
  ['Function.prototype.apply = () => 1', '(() => 2).apply()'],
  ['Function.prototype.bind = () => () => 1', '(() => 2).bind()()'],
  ['Function.prototype.toString = () => "x"', 'String(() => 2)'],
  ['Function.prototype.evil = 1', 'typeof (() => {}).evil'],
  ['Object.prototype.evil = 1', 'typeof ({}).evil'],
  ['Object.prototype.toString = () => "x"', 'String({})'],
  ['Object.prototype.hasOwnProperty = () => true', '({}).hasOwnProperty("x")'],
  ['Object.prototype.valueOf = () => 5', 'String(Number({}))'],
  ['Object.defineProperty(Object.prototype, "then", { value: 1 })', 'typeof ({}).then'],
  ['Object.setPrototypeOf(Object.prototype, { evil: 1 })', 'typeof ({}).evil'],
  ['Object.keys = () => []', 'Object.keys({ a: 1 })'],
  ['Object.entries = () => []', 'Object.entries({ a: 1 })'],
  ['Object.assign = () => 1', 'Object.assign({}, { a: 1 })'],
  ['Array.prototype.evil = 1', 'typeof [].evil'],
  ['Array.prototype.map = () => 1', '[1].map((n) => n)'],
  ['Array.prototype.push = () => 1', '(() => { const a = []; a.push(2); return a; })()'],
  ['Array.prototype[Symbol.iterator] = function* () {}', '[...[1, 2]]'],
  ['Array.prototype[0] = 7', '[,][0] ?? "none"'],
  ['Array.prototype.constructor = Object', '[].constructor === Array'],
  ['Array.prototype[Symbol.unscopables].evil = 1', 'typeof Array.prototype[Symbol.unscopables].evil'],
  [
    'Object.defineProperty(Array, Symbol.species, { get: () => Object })',
    '[1].map((n) => n).constructor === Array',
  ],
  ['Array.isArray = () => true', 'Array.isArray({})'],
  ['Array.from = () => 1', 'Array.from([1])'],
  ['proto([].values()).next = () => ({ done: true })', '[...[1, 2]]'],
  ['proto(proto([].values()))[Symbol.iterator] = null', '[...gen()]'],
  ['proto(new Map().keys()).next = () => ({ done: true })', '[...new Map([[1, 2]])]'],
  ['proto(new Set().keys()).next = () => ({ done: true })', '[...new Set([1])]'],
  ['proto(""[Symbol.iterator]()).next = () => ({ done: true })', '[..."ab"]'],
  ['proto("".matchAll(/./g)).next = () => ({ done: true })', '[..."ab".matchAll(/./g)].length'],
  ['proto(gen.prototype).next = () => ({ done: true })', '[...gen()]'],
  ['proto(gen).prototype.return = null', 'typeof gen().return'],
  ['proto(agen.prototype).next = null', 'typeof agen().next'],
  ['proto(proto(agen.prototype)).evil = 1', 'typeof agen().evil'],
  ['proto(gen).constructor.evil = 1', 'typeof proto(gen).constructor.evil'],
  ['AsyncFunction.prototype.evil = 1', 'typeof (async () => {}).evil'],
  ['Map.prototype.get = () => 1', 'new Map([[1, 2]]).get(1)'],
  ['Object.defineProperty(Map.prototype, "size", { get: () => 99 })', 'new Map().size'],
  ['Object.defineProperty(Set.prototype, "size", { get: () => 99 })', 'new Set().size'],
  [
    'Object.getOwnPropertyDescriptor(Map.prototype, "size").get.evil = 1',
    'typeof Object.getOwnPropertyDescriptor(Map.prototype, "size").get.evil',
  ],
  [
    'Object.getOwnPropertyDescriptor(Error.prototype, "name").get.evil = 1',
    'typeof Object.getOwnPropertyDescriptor(Error.prototype, "name").get.evil',
  ],
  ['Object.defineProperty(Map, Symbol.species, { get: () => Object })', 'Map[Symbol.species] === Map'],
  [
    'Object.defineProperty(Promise, Symbol.species, { get: () => Object })',
    'Promise.resolve().then(() => {}) instanceof Promise',
  ],
  ['WeakMap.prototype.get = () => 1', '(() => { const k = {}; return new WeakMap([[k, 2]]).get(k); })()'],
  ['Set.prototype.has = () => true', 'new Set().has(1)'],
  ['Promise.prototype.then = null', 'typeof Promise.resolve().then'],
  ['Promise.prototype.catch = null', 'typeof Promise.resolve().catch'],
  ['Promise.resolve = () => 1', 'typeof Promise.resolve().then'],
  ['Promise.all = () => 1', 'typeof Promise.all([]).then'],
  ['JSON.parse = () => 1', 'JSON.parse("2")'],
  ['JSON.stringify = () => "1"', 'JSON.stringify(2)'],
  ['Math.random = () => 4', 'Math.random() < 1'],
  ['Math.floor = () => 4', 'Math.floor(1.5)'],
  ['Date.now = () => 5', 'Date.now()'],
  ['Date.prototype.getTime = () => 5', 'new Date(3).getTime()'],
  ['Date.prototype.getHours = () => 5', 'new Date(0).getHours()'],
  ['Date = null', 'typeof Date'],
  ['String.prototype.slice = () => "x"', '"abc".slice(1)'],
  ['Number.prototype.toFixed = () => "x"', '(1).toFixed(1)'],
  ['Number.isInteger = () => true', 'Number.isInteger(1.5)'],
  ['Symbol.iterator = 1', 'typeof Symbol.iterator'],
  ['Symbol.prototype.evil = 1', 'typeof Symbol().evil'],
  ['RegExp.prototype.exec = () => null', '/a/.test("a")'],
  ['/(secret)/.test("secret"); void RegExp.$1', 'String(RegExp.$1)'],
  ['/secret/.test("secret"); void RegExp.lastMatch', 'String(RegExp.lastMatch)'],
  ['Object.defineProperty(RegExp.prototype, "flags", { get: () => "y" })', '/a/.flags'],
  ['Error.stackTraceLimit = 0', '(new Error("x").stack ?? "").includes("at ")'],
  ['Error.prepareStackTrace = () => "x"', 'new Error("x").stack !== "x"'],
  ['Error.captureStackTrace = null', 'typeof Error.captureStackTrace'],
  ['Error.prototype.name = "Evil"', 'new Error("x").name'],
  ['Error.prototype.message = "evil"', 'new Error().message'],
  ['TypeError.prototype.name = "Evil"', 'new TypeError("x").name'],
  ['Uint8Array.prototype.evil = 1', 'typeof new Uint8Array().evil'],
  ['TypedArray.prototype.set = null', 'typeof new Uint8Array().set'],
  ['TypedArray.prototype.fill = null', 'typeof new Float64Array().fill'],
  ['Object.defineProperty(TypedArray.prototype, "length", { get: () => 99 })', 'new Uint8Array(2).length'],
  [
    'Object.defineProperty(TypedArray, Symbol.species, { get: () => Object })',
    'new Uint8Array(2).map((n) => n).length',
  ],
  ['TypedArray.from = null', 'typeof Uint8Array.from'],
  [
    'Object.defineProperty(ArrayBuffer.prototype, "byteLength", { get: () => 99 })',
    'new ArrayBuffer(2).byteLength',
  ],
  ['DataView.prototype.getInt8 = () => 99', 'new DataView(new ArrayBuffer(1)).getInt8(0)'],
  ['BigInt.prototype.toJSON = () => "x"', 'typeof 1n.toJSON'],
  ['Reflect.ownKeys = () => []', 'Reflect.ownKeys({ a: 1 })'],
  ['Proxy.revocable = null', 'typeof Proxy.revocable'],
  ['Atomics.add = null', 'typeof Atomics.add'],
  ['Intl.NumberFormat.prototype.evil = 1', 'typeof new Intl.NumberFormat().evil'],
  ['Intl.DateTimeFormat = null', 'typeof Intl.DateTimeFormat'],
  [
    'proto(new Intl.Segmenter().segment("a")).containing = null',
    'typeof new Intl.Segmenter().segment("a").containing',
  ],
  ['AbortController.prototype.abort = null', 'typeof new AbortController().abort'],
  [
    'proto(new AbortController().signal).throwIfAborted = null',
    'typeof new AbortController().signal.throwIfAborted',
  ],
  [
    'proto(new AbortController().signal).constructor.evil = 1',
    'typeof new AbortController().signal.constructor.evil',
  ],
  ['URL.prototype.evil = 1', 'typeof new URL("http://a").evil'],
  ['Object.defineProperty(URL.prototype, "href", { get: () => "x" })', 'new URL("http://a").href'],
  ['URLSearchParams.prototype.get = () => "x"', 'new URLSearchParams("a=1").get("a")'],
  ['TextDecoder.prototype.decode = null', 'typeof new TextDecoder().decode'],
  ['crypto.randomUUID = () => 1', 'typeof crypto.randomUUID()'],
  ['console.log = null', 'typeof console.log'],
  ['parseInt = () => 7', 'parseInt("2")'],
  ['parseInt.evil = 1', 'typeof parseInt.evil'],
  ['queueMicrotask.evil = 1', 'typeof queueMicrotask.evil'],
  ['setTimeout.evil = 1', 'typeof setTimeout.evil'],
  ['sdk.FatalError.evil = 1', 'typeof sdk.FatalError.evil'],
  ['sdk.FatalError.prototype.evil = 1', 'typeof new sdk.FatalError("x").evil'],
  ['sdk.CancellationScope.prototype.run = null', 'typeof new sdk.CancellationScope().run'],
  ['sdk.sleep.evil = 1', 'typeof sdk.sleep.evil'],
  ['sdk.log.info = null', 'typeof sdk.log.info'],
  ['sdk.evil = 1', 'typeof sdk.evil'],
  ['z.evil = 1', 'typeof z.evil'],
  ['z.core.evil = 1', 'typeof z.core.evil'],
  ['z.string = null', 'typeof z.string'],
  ['z.string.evil = 1', 'typeof z.string.evil'],
  ['z.ZodString.evil = 1', 'typeof z.ZodString.evil'],
  ['z.config({ customError: () => "evil" })', 'z.string().safeParse(1).error.issues[0].message'],
  ['z.config(z.locales.de())', 'z.string().safeParse(1).error.issues[0].message'],
  ['z.config({ jitless: true })', 'z.config().jitless ?? "unset"'],
  ['z.globalRegistry.add(z.string(), { id: "evil" })', '[...z.globalRegistry._idmap.keys()]'],
  ['z.globalRegistry.clear(); z.globalRegistry.evil = 1', 'typeof z.globalRegistry.evil'],
];

describe('a change that a run makes to what is shared does not reach another run', () => {
  test('there are as many as were once found, and more', () => {
    expect(CHANGES.length).toBeGreaterThan(100);
  });

  test.each(CHANGES)('%s', (change, probe) => {
    const pristine = resultOf(boxOf({ probe: `return [${probe}];` }), 'probe');
    expect(pristine).toBeInstanceOf(Array);
    const box = boxOf({
      change: `try { ${change}; } catch {} return 'changed';`,
      sloppy: `try { new Function('sdk', 'z', 'proto', 'gen', 'agen', 'AsyncFunction', 'TypedArray', ${JSON.stringify(change)})(sdk, z, proto, gen, agen, AsyncFunction, TypedArray); } catch {} return 'changed';`,
      probe: `return [${probe}];`,
    });
    resultOf(box, 'change');
    resultOf(box, 'sloppy');
    expect(resultOf(box, 'probe')).toEqual(pristine);
    expect(resultOf(box, 'change')).toBe('changed');
  });
});

test('functions made of texts are what they would be, whatever is said of imports', () => {
  const cases: [code: string, expected: unknown][] = [
    ['new Function("a", "b", "return a + b")(1, 2)', 3],
    ['Function("return typeof this.Math")()', 'object'],
    [
      '[Function.name, Function.length, AsyncFunction.name, gen.constructor.name]',
      ['Function', 1, 'AsyncFunction', 'GeneratorFunction'],
    ],
    ['[() => {}, async () => {}, gen, class {}].every((fn) => fn instanceof Function)', true],
    ['(() => {}).constructor === Function && (async () => {}).constructor === AsyncFunction', true],
    ['new Function("") instanceof Function && new (class extends Function {})("return 1")() === 1', true],
    ['Object.getPrototypeOf(new (class Own extends Function {})("")).constructor.name', 'Own'],
    [
      'new Function(String.raw`return ["import", \'import it\', "\\import", "\\\\import", { import: 1 }, /^import$/.test("import")]`)()',
      ['import', 'import it', 'import', '\\import', { import: 1 }, true],
    ],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is code in a text
    ['new Function("return `import ${1}`; // import")()', 'import 1'],
    [
      'z.object({ import: z.string(), "import it": z.number() }).parse({ import: "a", "import it": 1 })',
      { import: 'a', 'import it': 1 },
    ],
  ];
  for (const [code, expected] of cases) {
    expect(resultOf(boxOf({ code: `return ${code};` }), 'code'), code).toEqual(expected);
  }
});

test.each([
  'atob(text)',
  'btoa(text)',
  'new URL(text)',
  'new URL("http://a", text)',
  'URL.canParse(text)',
  'new URL("http://a").hash = text',
  'params.append(text, 1)',
  'params.set(1, text)',
  'params.get(text)',
  'params.has("a", text)',
  'params.delete("a", text)',
  'new TextEncoder().encode(text)',
  'new TextEncoder().encodeInto(text, new Uint8Array(1))',
  'new TextDecoder(text)',
])('what an argument throws that is made a text comes through %s as it is', (call) => {
  const body = `const thrown = { own: true }; const text = { toString() { throw thrown; } };
    const params = new URLSearchParams(); try { ${call}; } catch (error) { return error === thrown; }`;
  expect(resultOf(boxOf({ code: body }), 'code')).toBe(true);
});

describe('ordinary code works as ever', () => {
  test.each([
    [
      'const o = {}; o.toString = () => "own"; o.constructor = 1; o.hasOwnProperty = 2; return [String(o), Object.keys(o)];',
      ['own', ['toString', 'constructor', 'hasOwnProperty']],
    ],
    [
      'const e = new TypeError("x"); e.name = "Own"; e.message = "m"; e.toString = () => "t"; return [e.name, e.message, String(e)];',
      ['Own', 'm', 't'],
    ],
    [
      'class Own extends Error { constructor(m) { super(m); this.name = "Own"; this.code = 1; } } const e = new Own("m"); return [e.name, String(e), e instanceof Own, e.code];',
      ['Own', 'Own: m', true, 1],
    ],
    [
      'function Old(m) { this.message = m; } Old.prototype = Object.create(Error.prototype); Old.prototype.constructor = Old; Old.prototype.name = "Old"; return [String(new Old("m")), new Old("m") instanceof Error];',
      ['Old: m', true],
    ],
    [
      'function Base() {} Base.prototype.valueOf = function () { return 7; }; Base.prototype.toJSON = () => "j"; return [new Base() + 1, JSON.stringify(new Base())];',
      [8, '"j"'],
    ],
    [
      'const f = () => {}; f.call = 1; f.toString = () => "f"; f.apply = 2; return [String(f), f.call, f.apply];',
      ['f', 1, 2],
    ],
    [
      'class M extends Map { get(k) { return super.get(k) ?? "none"; } } class L extends Array { sum() { return this.length; } } return [new M([["a", 1]]).get("b"), L.of(1, 2).map((n) => n).sum()];',
      ['none', 2],
    ],
    [
      'const d = new Date(0); d.toJSON = () => "d"; d.toString = () => "s"; return [JSON.stringify(d), String(d)];',
      ['"d"', 's'],
    ],
    ['const a = [1]; a.toString = () => "a"; a.extra = 1; return [String(a), a.extra];', ['a', 1]],
    [
      'const copy = Object.assign({}, { constructor: 1, toString: 2, valueOf: 3 }); return Object.keys(copy);',
      ['constructor', 'toString', 'valueOf'],
    ],
    ['const o = { get name() { return 1; } }; return [o.name, ({ ...o }).name];', [1, 1]],
    [
      '"use strict"; try { Object.freeze({ a: 1 }).toString = 1; } catch (e) { return e.constructor === TypeError; }',
      true,
    ],
    [
      'const s = new Set(); s.name = "n"; const p = Promise.resolve(1); p.name = "p"; p.cancel = () => 2; return [s.name, p.name, p.cancel(), await p];',
      ['n', 'p', 2, 1],
    ],
    [
      'return [[3, 1, 2].sort(), [..."ab"], { ...{ a: 1 } }, "a-b".replace(/-/g, "+"), "x".padStart(3), (12.5).toFixed(2)];',
      [[1, 2, 3], ['a', 'b'], { a: 1 }, 'a+b', '  x', '12.50'],
    ],
    [
      'const u = new URL("/p?a=1&a=2#h", "http://u:p@h:8/"); u.searchParams.append("b", "é"); u.hash = "x"; return [u.href, u.host, u.origin, u.searchParams.getAll("a"), [...u.searchParams.keys()], JSON.stringify({ u }), URL.canParse("no"), Object.prototype.toString.call(u)];',
      [
        'http://u:p@h:8/p?a=1&a=2&b=%C3%A9#x',
        'h:8',
        'http://h:8',
        ['1', '2'],
        ['a', 'a', 'b'],
        '{"u":"http://u:p@h:8/p?a=1&a=2&b=%C3%A9#x"}',
        false,
        '[object URL]',
      ],
    ],
    [
      'const p = new URLSearchParams({ a: 1, b: "x y" }); p.sort(); p.delete("a"); return [String(p), p.size, new URLSearchParams([["k", "v"]]).get("k"), String(new URLSearchParams(p)), p.has("b", "no")];',
      ['b=x+y', 1, 'v', 'b=x+y', false],
    ],
    [
      'const c = new AbortController(); const seen = []; c.signal.addEventListener("abort", () => seen.push("once"), { once: true }); c.signal.onabort = () => seen.push("on"); c.abort(); c.abort(); try { c.signal.throwIfAborted(); } catch (e) { seen.push(e.name); } return [seen, c.signal.aborted];',
      [['on', 'once', 'AbortError'], true],
    ],
    [
      'const e = new TextEncoder(); const into = new Uint8Array(4); return [e.encode("é") instanceof Uint8Array, e.encodeInto("é", into), new TextDecoder("utf-8", { fatal: true }).decode(e.encode("é")), new TextDecoder().encoding];',
      [true, { read: 1, written: 2 }, 'é', 'utf-8'],
    ],
    [
      'z.config(z.locales.de()); return z.string().safeParse(1).error.issues[0].message.startsWith("Ung");',
      true,
    ],
    [
      'const S = z.string().meta({ id: "s", title: "T" }); return [z.globalRegistry.get(S).title, z.toJSONSchema(z.object({ S })).$defs.s.title, S.describe("d").description];',
      ['T', 'T', 'd'],
    ],
    [
      'const known = { "%eval%": eval }; try { (0, eval)("1"); } catch (e) { return [typeof known["%eval%"], e.name, e.message.includes("eval cannot be used in a workflow")]; }',
      ['function', 'DeterminismError', true],
    ],
    // What packages of the time before classes do.
    ...[
      ['Map', 'get', 'set', 'has', 'forEach', 'constructor'],
      ['Set', 'add', 'has', 'delete', 'constructor'],
      ['WeakMap', 'get', 'set'],
      ['Date', 'getTime', 'toISOString'],
      ['RegExp', 'exec', 'test'],
      ['Uint8Array', 'slice', 'fill', 'set'],
      ['gen', 'next', 'return'],
    ].map(([base, ...names]): [string, unknown] => [
      `function Old() {} Old.prototype = Object.create(${base}.prototype); const seen = [];
      for (const name of ${JSON.stringify(names)}) { Old.prototype[name] = () => name; seen.push(new Old()[name]()); } return seen;`,
      names,
    ]),
    [
      'function I() {} I.prototype = Object.create(proto(proto([].values()))); I.prototype[Symbol.iterator] = () => [7].values(); const m = new Map().keys(); m.next = () => ({ done: false, value: 1 }); return [[...new I()], m.next().value];',
      [[7], 1],
    ],
    [
      'const before = Error.prepareStackTrace; Error.prepareStackTrace = () => "x"; class Own extends Error {} Own.prepareStackTrace = 3; return [typeof Error.prepareStackTrace, Own.prepareStackTrace, new Error("m").stack.includes("    at ")];',
      ['undefined', 3, true],
    ],
  ])('%s', (body, expected) => {
    expect(resultOf(boxOf({ code: body }), 'code')).toEqual(expected);
  });

  test('every kind of schema can be made and used, in one run after the other', () => {
    const body = `
      const made = { string: z.string().min(1).email(), number: z.number().int().positive(), bigint: z.bigint(), boolean: z.boolean(), date: z.date(),
        any: z.any(), unknown: z.unknown(), never: z.never(), nul: z.null(), undef: z.undefined(), nan: z.nan(), symbol: z.symbol(), v: z.void(),
        literal: z.literal('a'), enumeration: z.enum(['a', 'b']), array: z.array(z.string()).min(1), tuple: z.tuple([z.string()], z.number()),
        object: z.object({ a: z.string().default('x'), b: z.number().optional() }).strict(), loose: z.looseObject({}), record: z.record(z.string(), z.number()),
        union: z.union([z.string(), z.number()]), disc: z.discriminatedUnion('k', [z.object({ k: z.literal('a') }), z.object({ k: z.literal('b') })]),
        and: z.intersection(z.object({ a: z.string() }), z.object({ b: z.string() })), map: z.map(z.string(), z.number()), set: z.set(z.string()),
        lazy: z.lazy(() => z.string()), pipe: z.string().transform((s) => s.length).pipe(z.number()), brand: z.string().brand('x'), ro: z.array(z.string()).readonly(),
        caught: z.string().catch('c'), pre: z.preprocess((v) => String(v), z.string()), custom: z.custom((v) => v === 1), inst: z.instanceof(Map),
        promise: z.promise(z.string()), iso: z.iso.datetime(), url: z.url(), uuid: z.uuid(), json: z.json(), coerce: z.coerce.number(), template: z.templateLiteral(['a', z.number()]),
        nullable: z.string().nullable(), nullish: z.string().nullish(), prefault: z.string().prefault('x'), refine: z.string().refine((s) => s.length > 1), check: z.string().check(z.minLength ? z.minLength(1) : (() => {})),
        partial: z.object({ a: z.string() }).partial(), extend: z.object({ a: z.string() }).extend({ b: z.string() }), fn: z.function({ input: [z.string()], output: z.number() }), file: typeof z.file, codec: z.stringbool(), };
      const Node = z.object({ value: z.string(), get next() { return Node.optional(); } });
      const seen = [];
      for (const [name, schema] of Object.entries(made)) {
        if (!schema?.safeParse) continue;
        for (const value of ['a', 1, { a: 'x' }, ['x'], null, undefined]) try { seen.push(name + schema.safeParse(value).success); } catch (e) { if (!/async|Promise/i.test(e.message)) throw new Error(name + ': ' + e.message); }
        try { z.toJSONSchema(schema); } catch (e) { if (!/cannot be represented/.test(e.message)) throw new Error(name + ': ' + e.message); }
      }
      seen.push(Node.parse({ value: 'a', next: { value: 'b' } }).next.value, made.object.parse({}).a);
      try { made.string.parse(5); } catch (e) { seen.push(e instanceof z.ZodError, e.issues.length, z.prettifyError(e), z.treeifyError(e).errors.length); }
      return seen;`;
    const box = boxOf({ one: body, two: body });
    const first = resultOf(box, 'one');
    expect(first).toBeInstanceOf(Array);
    expect(resultOf(box, 'two')).toEqual(first);
  });
});
