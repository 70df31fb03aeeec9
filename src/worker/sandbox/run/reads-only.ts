/**
 * Whether a handler can only read, told by its text.
 *
 * A query or a validator is not run again at a replay, so one that changes something leaves the run in memory different
 * from the one that a replay makes. Most are plain enough to tell: they look things up, compare, and call methods by
 * names that change nothing. Whatever is not recognised here counts as a change, and costs a replay.
 *
 * To go through something that the workflow keeps may be to use it up: a name can stand for a generator. So only what is made
 * anew in the handler is gone through. What a text does not show is a getter, and a method of the workflow's own that changes
 * something under one of the names below.
 */

export function readsOnly(handler: (...args: never[]) => unknown): boolean {
  const text = Function.prototype.toString.call(handler);
  let known = verdicts.get(text);
  if (known === undefined) {
    if (verdicts.size >= MAX_VERDICTS) verdicts.clear();
    const tokens = tokensOf(text);
    known = tokens?.every((_, at) => isReading(tokens, at)) ?? false;
    verdicts.set(text, known);
  }
  return known;
}

/** Texts come from code, of which there is only so much, unless it makes functions of texts. */
const MAX_VERDICTS = 1_000;
const verdicts = new Map<string, boolean>();

const TOKEN =
  /\s*(?:([A-Za-z_$][\w$]*)|(\d[\w.]*)|("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')|(=>|\.\.\.|<<=|>>=|>>>=|===|!==|==|!=|<=|>=|&&|\|\||\?\?|\?\.|\+\+|--|[{}()[\],;:?.!<>+*%~^|&=-]))/y;

/** Undefined for what is too much to tell: templates, expressions, division, comments, and what has no text. */
function tokensOf(text: string): string[] | undefined {
  if (text.endsWith('[native code] }')) return undefined;
  const tokens: string[] = [];
  const end = text.trimEnd().length;
  for (let at = 0; at < end; at = TOKEN.lastIndex) {
    TOKEN.lastIndex = at;
    const match = TOKEN.exec(text);
    if (!match) return undefined;
    tokens.push(match[0].trim());
  }
  return tokens;
}

const CHANGES: ReadonlySet<string> = new Set([
  ...[
    '++',
    '--',
    '<<=',
    '>>=',
    '>>>=',
    'delete',
    'await',
    'yield',
    'async',
    'class',
    'import',
    'super',
    'var',
    'with',
    'eval',
    'arguments',
  ],
]);
const BEFORE_PARENTHESIS: ReadonlySet<string> = new Set([
  ...[
    'if',
    'for',
    'while',
    'switch',
    'catch',
    'return',
    'typeof',
    'case',
    'of',
    'in',
    'instanceof',
    'throw',
    'void',
  ],
]);
/** Of lists and texts. Those of maps are also names of methods of caches, which change by being read. */
const READERS =
  /^(includes|indexOf|lastIndexOf|join|slice|at|concat|flat|toString|toFixed|toISOString|toJSON|getTime|toUpperCase|toLowerCase|trim|startsWith|endsWith|split|keys|values|entries|padStart|padEnd|localeCompare)$/;
/** These call what they are given, which therefore has to stand there. */
const CALLERS = /^(map|filter|find|findIndex|findLast|some|every|flatMap|reduce|toSorted)$/;
const FUNCTIONS = /^(Number|String|Boolean|structuredClone)$/;
const NAMESPACED = /^(Object\.(keys|values|entries|hasOwn)|Array\.isArray|Math\.\w+|Number\.\w+|Array\.of)$/;
const ERRORS = /^(Aggregate|Eval|Range|Reference|Syntax|Type|URI)?Error$/;
/** What these give is their own; what is in it need not be. */
const MAKERS = /^(keys|values|entries|map|filter|flatMap|slice|concat|flat|toSorted|split)$/;
/** These have the elements of what they were called on. */
const SELECTORS = /^(filter|slice|concat|toSorted)$/;
const NAME = /^[A-Za-z_$]/;

function isReading(tokens: readonly string[], at: number): boolean {
  const token = tokens[at]!;
  if (CHANGES.has(token)) return false;
  if (token === '=') return isDeclaration(tokens, at);
  if (token === 'new') return ERRORS.test(tokens[at + 1] ?? '');
  if (token === 'function') return at === 0;
  if ((token === 'of' || token === 'in') && !isMember(tokens, at)) {
    if (isAssignedByLoop(tokens, at)) return false;
    return token === 'in' || isMadeHere(tokens, at + 1);
  }
  if (token === '...') return isSpreadOfOwn(tokens, at);
  return token !== '(' || isReadingCall(tokens, at);
}

/** `const total = …`; what is declared that way is changed only by an assignment, which is none. */
const isDeclaration = (tokens: readonly string[], at: number): boolean =>
  NAME.test(tokens[at - 1] ?? '') && (tokens[at - 2] === 'const' || tokens[at - 2] === 'let');

/** `for (order.last of …)` assigns to what is there already. */
function isAssignedByLoop(tokens: readonly string[], at: number): boolean {
  const opening = around(tokens, at);
  const declares = tokens[opening + 1];
  return tokens[opening - 1] === 'for' && declares !== 'const' && declares !== 'let';
}

/** Whether the parenthesis opens no call, or one that changes nothing. */
function isReadingCall(tokens: readonly string[], at: number): boolean {
  const name = tokens[at - 1] ?? '';
  // The parameters of the handler itself: `(a) =>`, `function f(a)` or `f(a)` of an object.
  if (
    at === 0 ||
    (at <= 2 && tokens[0] === 'function') ||
    (at === 1 && tokens[closing(tokens, at) + 1] === '{')
  )
    return true;
  if (name === ')' || name === ']' || name === '?.') return false;
  if (!NAME.test(name) || BEFORE_PARENTHESIS.has(name)) return true;
  if (tokens[at - 2] === 'new') return true;
  if (!isMember(tokens, at - 1)) return FUNCTIONS.test(name);
  const isTop = tokens[at - 4] !== '.' && tokens[at - 4] !== '?.';
  if (isTop && NAMESPACED.test(`${tokens[at - 3]}.${name}`)) return true;
  if (isTop && tokens[at - 3] === 'Object' && name === 'fromEntries') return isMadeHere(tokens, at + 1);
  if (CALLERS.test(name)) {
    return isArrow(tokens, at + 1) && (!takesApart(tokens, at + 1) || isOfEntries(tokens, at - 3));
  }
  return READERS.test(name);
}

const isMember = (tokens: readonly string[], at: number): boolean =>
  tokens[at - 1] === '.' || tokens[at - 1] === '?.';

/** `{ ...order }` and `(...args) =>` go through nothing; in lists and calls what is gone through has to be made here. */
function isSpreadOfOwn(tokens: readonly string[], at: number): boolean {
  const opening = around(tokens, at);
  if (tokens[opening] === '{') return true;
  if (tokens[opening] === '(' && ['=>', '{'].includes(tokens[closing(tokens, opening) + 1] ?? ''))
    return true;
  return isMadeHere(tokens, at + 1);
}

/** Whether the expression that begins there is a list, or a call that makes one or an iterator of its own. */
function isMadeHere(tokens: readonly string[], begin: number): boolean {
  let end = begin;
  for (; end < tokens.length && !/^[)\]},;]$/.test(tokens[end]!); end++) {
    if (/^([?:<>+*%^|&-]|=>|&&|\|\||\?\?)$/.test(tokens[end]!)) return false;
    if (/^[([{]$/.test(tokens[end]!)) end = closing(tokens, end);
  }
  const last = end - 1;
  const opening = openingOf(tokens, last);
  if (opening === begin) return tokens[begin] === '[';
  return tokens[last] === ')' && MAKERS.test(tokens[opening - 1]!) && isMember(tokens, opening - 1);
}

/** Whether parameters of the arrow function that begins there take lists apart, which goes through them. */
function takesApart(tokens: readonly string[], at: number): boolean {
  return tokens[at] === '(' && tokens.slice(at, closing(tokens, at)).includes('[');
}

/** Whether what ends there has entries as its elements: lists that were made for it. */
function isOfEntries(tokens: readonly string[], end: number): boolean {
  const opening = openingOf(tokens, end);
  if (tokens[end] === ']') return tokens[opening + 1] === '...' && isOfEntries(tokens, end - 1);
  if (tokens[end] !== ')' || !isMember(tokens, opening - 1)) return false;
  const name = tokens[opening - 1]!;
  return name === 'entries' || (SELECTORS.test(name) && isOfEntries(tokens, opening - 3));
}

function isArrow(tokens: readonly string[], at: number): boolean {
  return tokens[(tokens[at] === '(' ? closing(tokens, at) : at) + 1] === '=>';
}

function closing(tokens: readonly string[], opening: number): number {
  let depth = 0;
  for (let at = opening; at < tokens.length; at++) {
    if (/^[([{]$/.test(tokens[at]!)) depth++;
    else if (/^[)\]}]$/.test(tokens[at]!) && --depth === 0) return at;
  }
  return tokens.length;
}

function openingOf(tokens: readonly string[], closing: number): number {
  return /^[)\]}]$/.test(tokens[closing] ?? '') ? around(tokens, closing) : -1;
}

/** The parenthesis or bracket that what stands there is in; -1 for none. */
function around(tokens: readonly string[], inside: number): number {
  let depth = 1;
  for (let at = inside - 1; at >= 0; at--) {
    if (/^[)\]}]$/.test(tokens[at]!)) depth++;
    else if (/^[([{]$/.test(tokens[at]!) && --depth === 0) return at;
  }
  return -1;
}
