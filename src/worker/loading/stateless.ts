/**
 * Whether the module level of a bundle keeps state, read from its text.
 *
 * Module state belongs to one run, so a bundle that has any is evaluated anew for each run. One that provably has none
 * is evaluated once for all of them, which makes short runs much cheaper. "Provably" is meant strictly: whatever is
 * not recognised here counts as state, and costs only time. A text cannot say everything: a class that is handed on
 * may be changed under another name. So what is shared is frozen as well (`shareable`), and such a change throws.
 *
 * esbuild writes every top-level `const`, `let` and class as a `var`, so what an author declared as constant is
 * found by looking for assignments instead.
 */
import { type AnyNode, type Expression, type Pattern, type Program, parse } from 'acorn';
import { isNaming } from './class-names.js';
import { childrenOf } from './syntax-tree.js';

/**
 * The text with all that its runs share frozen at its end; undefined when each run has to have its own. `packages` are
 * the names by which it imports packages, which each run evaluates.
 */
export function shareable(code: string, packages: ReadonlySet<string> = new Set()): string | undefined {
  const names = sharedNames(code, packages);
  return names && `${code}\nrequire("perdure/internal").share([${names.join(', ')}]);\n`;
}

/** What is declared at the top level, when all of it is free of state. */
function sharedNames(code: string, packages: ReadonlySet<string>): string[] | undefined {
  const program = parse(code, {
    ecmaVersion: 'latest',
    sourceType: 'script',
    allowReturnOutsideFunction: true,
  });
  const bundle = new TopLevel(program);
  const isStateless =
    bundle.imports.every((specifier) => SHARED_MODULES.has(specifier) && !packages.has(specifier)) &&
    program.body.every((statement) => bundle.isConstant(statement)) &&
    !bundle.isChangedAnywhere(program);
  return isStateless ? bundle.ownNames : undefined;
}

/** What runs share of this package and of its zod is frozen; any other package is evaluated by each run. */
const SHARED_MODULES: ReadonlySet<string> = new Set(['perdure', 'perdure/output', 'perdure/internal', 'zod']);
/** Ways to a class or function that do not name it. */
const ALIASES: ReadonlySet<string> = new Set(['constructor', 'prototype', '__proto__']);
const CHANGERS = /^(assign|defineProperty|defineProperties|setPrototypeOf|set|deleteProperty)$/;

/** Functions of the SDK that make a definition: immutable, and the same whenever they are called. */
const DEFINERS = /^(workflow|step|evaluator|define[A-Z]\w*|stepReference)$/;
/** What esbuild itself writes at the top of a CommonJS bundle. */
const ESBUILD_NAME =
  /^__(defProp|getOwnPropDesc|getOwnPropNames|getOwnPropSymbols|getProtoOf|hasOwnProp|propIsEnum|create|export|name|copyProps|toESM|toCommonJS|reExport)$/;
const ESBUILD_STATEMENT = /^__(export|reExport)$/;
/** Methods that read a list or a lookup table and hand out nothing that could change it. */
const READERS =
  /^(map|filter|reduce|reduceRight|forEach|find|findIndex|findLast|includes|indexOf|lastIndexOf|join|slice|some|every|at|concat|toString)$/;

const isOwnModule = (specifier: string | undefined): boolean =>
  specifier !== undefined && /^perdure($|\/)/.test(specifier);

class TopLevel {
  /** `var import_x = require('x')`, by name. */
  readonly #imports = new Map<string, string>();
  readonly #names = new Set<string>();
  /** Numbers, texts and their like, which are themselves wherever they go. */
  readonly #primitives = new Set<string>();
  /** Lists and lookup tables of plain values: constant as long as they are only read. */
  readonly #tables = new Set<string>();

  constructor(program: Program) {
    for (const statement of program.body) {
      if (statement.type === 'FunctionDeclaration') this.#names.add(statement.id.name);
      if (statement.type !== 'VariableDeclaration') continue;
      for (const { id, init } of statement.declarations) {
        if (id.type !== 'Identifier') continue;
        this.#names.add(id.name);
        const specifier = requiredBy(init);
        if (specifier !== undefined) this.#imports.set(id.name, specifier);
        if (init && isTable(init)) this.#tables.add(id.name);
        if (init && isPrimitive(init)) this.#primitives.add(id.name);
      }
    }
  }

  get imports(): string[] {
    return [...this.#imports.values()];
  }

  get ownNames(): string[] {
    return [...this.#names].filter((name) => !ESBUILD_NAME.test(name) && !this.#imports.has(name));
  }

  isConstant(statement: Program['body'][number]): boolean {
    switch (statement.type) {
      case 'FunctionDeclaration':
      case 'EmptyStatement':
        return true;
      case 'ExpressionStatement':
        return statement.directive !== undefined || isBundlerStatement(statement.expression);
      case 'VariableDeclaration':
        return statement.declarations.every(
          ({ id, init }) => id.type === 'Identifier' && this.#isInitialiser(id.name, init),
        );
      default:
        return false;
    }
  }

  #isInitialiser(name: string, init: Expression | null | undefined): boolean {
    if (!init) return false;
    if (ESBUILD_NAME.test(name) || this.#imports.has(name) || this.#tables.has(name)) return true;
    // The object that holds the exports of a module; only esbuild's own helpers write to it.
    if (/_exports(\d*)$/.test(name) && init.type === 'ObjectExpression' && init.properties.length === 0)
      return true;
    return this.#isValue(init);
  }

  /** Whether evaluating `node` gives something that has no state and changes none. */
  #isValue(node: AnyNode): boolean {
    switch (node.type) {
      case 'Literal':
        return !('regex' in node && node.regex && /[gy]/.test(node.regex.flags));
      case 'FunctionExpression':
      case 'ArrowFunctionExpression':
        return true;
      case 'Identifier':
        return (this.#names.has(node.name) && !this.#tables.has(node.name)) || node.name === 'undefined';
      case 'TemplateLiteral':
        return node.expressions.every((part) => this.#isValue(part));
      case 'UnaryExpression':
        return node.operator !== 'delete' && this.#isValue(node.argument);
      case 'BinaryExpression':
      case 'LogicalExpression':
        return this.#isValue(node.left) && this.#isValue(node.right);
      case 'ConditionalExpression':
        return this.#isValue(node.test) && this.#isValue(node.consequent) && this.#isValue(node.alternate);
      case 'ClassExpression':
        return this.#isStatelessClass(node);
      case 'MemberExpression':
        return this.#isOfImport(node);
      case 'CallExpression':
        return (
          this.#isDefinition(node.callee) && node.arguments.every((argument) => this.#isArgument(argument))
        );
      default:
        return false;
    }
  }

  /** An argument of a definition belongs to that definition alone, so it may be a literal object. */
  #isArgument(node: AnyNode): boolean {
    switch (node.type) {
      case 'ObjectExpression':
        return node.properties.every(
          (property) =>
            property.type === 'Property' &&
            (!property.computed || this.#isValue(property.key)) &&
            this.#isArgument(property.value),
        );
      case 'ArrayExpression':
        return node.elements.every((element) => element !== null && this.#isArgument(element));
      default:
        return this.#isValue(node);
    }
  }

  #isStatelessClass(node: Extract<AnyNode, { type: 'ClassExpression' }>): boolean {
    const hasStatic = node.body.body.some(
      (member) =>
        (member.type === 'StaticBlock' && !isNaming(member)) ||
        (member.type === 'PropertyDefinition' && member.static),
    );
    const hasComputed = node.body.body.some((member) => member.type !== 'StaticBlock' && member.computed);
    const parent = node.superClass;
    const isPlain =
      !parent || this.#isValue(parent) || (parent.type === 'Identifier' && /Error$/.test(parent.name));
    return !hasStatic && !hasComputed && isPlain;
  }

  #isOfImport(node: AnyNode): boolean {
    if (node.type === 'Identifier') return this.#imports.has(node.name);
    return node.type === 'MemberExpression' && !node.computed && this.#isOfImport(node.object);
  }

  /** `workflow`, `step`, `define…` of perdure, or any link of a chain of zod: `z.object(…).strict`. */
  #isDefinition(callee: AnyNode): boolean {
    const target = callee.type === 'SequenceExpression' ? callee.expressions.at(-1)! : callee;
    return this.#isDefiner(target) || this.#isOfZod(target);
  }

  #isDefiner(node: AnyNode): boolean {
    if (
      node.type !== 'MemberExpression' ||
      node.object.type !== 'Identifier' ||
      node.property.type !== 'Identifier'
    )
      return false;
    const from = this.#imports.get(node.object.name);
    return isOwnModule(from) && DEFINERS.test(node.property.name);
  }

  #isOfZod(node: AnyNode): boolean {
    switch (node.type) {
      case 'Identifier':
        return this.#imports.get(node.name) === 'zod';
      case 'SequenceExpression':
        return this.#isOfZod(node.expressions.at(-1)!);
      case 'CallExpression':
        return this.#isOfZod(node.callee) && node.arguments.every((argument) => this.#isArgument(argument));
      case 'MemberExpression': {
        if (node.computed || node.property.type !== 'Identifier') return false;
        const { object } = node;
        const isPerdure = object.type === 'Identifier' && isOwnModule(this.#imports.get(object.name));
        if (isPerdure) return node.property.name === 'z';
        // A schema that another top-level constant holds: `Base.extend(…)`.
        const isConstant =
          object.type === 'Identifier' && this.#names.has(object.name) && !this.#imports.has(object.name);
        return isConstant ? SCHEMA_METHODS.test(node.property.name) : this.#isOfZod(object);
      }
      default:
        return false;
    }
  }

  /** Whether any code, also inside functions, assigns to a top-level name or to a property of one. */
  isChangedAnywhere(node: AnyNode, parent?: AnyNode, grandparent?: AnyNode): boolean {
    if (isBundlerStatement(node) || isBundlerHelper(node)) return false;
    if (this.#isAliased(node)) return true;
    if (node.type === 'AssignmentExpression' && this.#holdsTopLevel(node.left)) return true;
    if (node.type === 'UpdateExpression' && this.#holdsTopLevel(node.argument)) return true;
    if (node.type === 'UnaryExpression' && node.operator === 'delete' && this.#holdsTopLevel(node.argument))
      return true;
    if (
      (node.type === 'ForInStatement' || node.type === 'ForOfStatement') &&
      node.left.type !== 'VariableDeclaration' &&
      this.#holdsTopLevel(node.left)
    )
      return true;
    if (node.type === 'Identifier' && this.#tables.has(node.name) && !isRead(node, parent, grandparent))
      return true;
    for (const child of childrenOf(node)) if (this.isChangedAnywhere(child, node, parent)) return true;
    return false;
  }

  /** Whether `node` gives something of the top level another name, by which it could be changed unseen. */
  #isAliased(node: AnyNode): boolean {
    switch (node.type) {
      case 'MemberExpression':
        return node.property.type === 'Literal'
          ? ALIASES.has(String(node.property.value))
          : !node.computed && node.property.type === 'Identifier' && ALIASES.has(node.property.name);
      case 'Property':
        return node.key.type === 'Identifier' && !node.computed && ALIASES.has(node.key.name);
      case 'MetaProperty':
        return node.meta.name === 'new';
      case 'MethodDefinition':
        return node.static && usesThis(node.value);
      case 'VariableDeclarator':
        return this.#isOwnName(node.init) && node.id.type === 'Identifier' && !this.#names.has(node.id.name);
      case 'AssignmentExpression':
        return this.#isOwnName(node.right);
      case 'CallExpression':
        return isChanger(node.callee) && !isFresh(node.arguments[0]);
      default:
        return false;
    }
  }

  #isOwnName(node: AnyNode | null | undefined): boolean {
    if (node?.type !== 'Identifier' || !this.#names.has(node.name)) return false;
    return !this.#imports.has(node.name) && !this.#primitives.has(node.name);
  }

  #holdsTopLevel(target: Pattern | Expression): boolean {
    switch (target.type) {
      case 'Identifier':
        return this.#names.has(target.name) && !ESBUILD_NAME.test(target.name);
      case 'MemberExpression':
        return target.object.type !== 'Super' && this.#holdsTopLevel(target.object);
      case 'ObjectPattern':
      case 'ArrayPattern':
      case 'AssignmentPattern':
      case 'RestElement':
        return true;
      default:
        return false;
    }
  }
}

const SCHEMA_METHODS =
  /^(optional|nullable|nullish|array|extend|safeExtend|merge|pick|omit|partial|required|strict|loose|strip|passthrough|catchall|or|and|default|prefault|catch|describe|meta|refine|superRefine|check|transform|pipe|brand|readonly|min|max|length|email|url|uuid|regex|int|positive|negative|nonnegative|nonpositive|trim)$/;

const isPlain = (node: AnyNode): boolean =>
  (node.type === 'Literal' && !('regex' in node && node.regex)) ||
  (node.type === 'UnaryExpression' && node.operator !== 'delete' && isPlain(node.argument)) ||
  (node.type === 'TemplateLiteral' && node.expressions.length === 0);

const isPrimitive = (init: AnyNode): boolean =>
  isPlain(init) || ['TemplateLiteral', 'UnaryExpression', 'BinaryExpression'].includes(init.type);

function isTable(init: AnyNode): boolean {
  if (init.type === 'ArrayExpression')
    return init.elements.every((element) => element !== null && isPlain(element));
  return (
    init.type === 'ObjectExpression' &&
    init.properties.length > 0 &&
    init.properties.every(
      (property) =>
        property.type === 'Property' &&
        !property.computed &&
        property.kind === 'init' &&
        isPlain(property.value),
    )
  );
}

/** Whether a table's name stands where its contents are read and the table itself goes nowhere. */
function isRead(name: AnyNode, parent: AnyNode | undefined, grandparent: AnyNode | undefined): boolean {
  if (!parent) return false;
  switch (parent.type) {
    case 'VariableDeclarator':
      return parent.id === name;
    // A property key or member of the same name, not the table.
    case 'Property':
      return parent.key === name && parent.value !== name;
    case 'MethodDefinition':
    case 'PropertyDefinition':
      return parent.key === name;
    case 'MemberExpression': {
      if (parent.object !== name) return !parent.computed || parent.property === name;
      const isCalled = grandparent?.type === 'CallExpression' && grandparent.callee === parent;
      if (!isCalled) return true;
      return !parent.computed && parent.property.type === 'Identifier' && READERS.test(parent.property.name);
    }
    case 'SpreadElement':
      return true;
    case 'ForOfStatement':
      return parent.right === name;
    default:
      return false;
  }
}

function requiredBy(init: AnyNode | null | undefined): string | undefined {
  if (init?.type !== 'CallExpression' || init.callee.type !== 'Identifier') return undefined;
  const [argument] = init.arguments;
  if (init.callee.name === '__toESM') return requiredBy(argument);
  if (init.callee.name !== 'require' || argument?.type !== 'Literal') return undefined;
  return typeof argument.value === 'string' ? argument.value : undefined;
}

/** `__export(…)`, `module.exports = __toCommonJS(…)` and `0 && (module.exports = …)`. */
function isBundlerStatement(node: AnyNode): boolean {
  switch (node.type) {
    case 'CallExpression':
      return node.callee.type === 'Identifier' && ESBUILD_STATEMENT.test(node.callee.name);
    case 'AssignmentExpression':
      return (
        node.left.type === 'MemberExpression' &&
        node.left.object.type === 'Identifier' &&
        node.left.object.name === 'module' &&
        node.right.type === 'CallExpression' &&
        node.right.callee.type === 'Identifier' &&
        node.right.callee.name === '__toCommonJS'
      );
    case 'LogicalExpression':
      return node.operator === '&&' && node.left.type === 'Literal' && node.left.value === 0;
    default:
      return false;
  }
}

/** `var __copyProps = …` and its like. */
const isBundlerHelper = (node: AnyNode): boolean =>
  node.type === 'VariableDeclarator' && node.id.type === 'Identifier' && ESBUILD_NAME.test(node.id.name);

/** `Object.assign`, `Reflect.set` and their like. */
const isChanger = (callee: AnyNode): boolean =>
  callee.type === 'MemberExpression' &&
  callee.object.type === 'Identifier' &&
  /^(Object|Reflect)$/.test(callee.object.name) &&
  (callee.computed || (callee.property.type === 'Identifier' && CHANGERS.test(callee.property.name)));

const isFresh = (target: AnyNode | undefined): boolean =>
  target?.type === 'ObjectExpression' ||
  target?.type === 'ArrayExpression' ||
  target?.type === 'NewExpression';

function usesThis(node: AnyNode): boolean {
  if (node.type === 'ThisExpression') return true;
  for (const child of childrenOf(node)) if (usesThis(child)) return true;
  return false;
}
