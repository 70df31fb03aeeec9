/**
 * Classes in a bundle under the names that their authors gave them: an error is known by the name of its class, in retry
 * policies and to callers.
 *
 * esbuild calls a class that speaks of itself `_Order`, and the second of one name `Order2`. Its `keepNames` sets all names of
 * classes and functions again, each time one is made, which costs every turn. So this takes back what it writes but for
 * the classes that it has renamed. Each character keeps its place, for the source maps.
 */
import { type AnyNode, type CallExpression, parse } from 'acorn';
import { childrenOf } from './syntax-tree.js';

/** `code` is what esbuild makes with `keepNames`. */
export function withClassNames(code: string): string {
  const program = parse(code, {
    ecmaVersion: 'latest',
    sourceType: 'script',
    allowReturnOutsideFunction: true,
  });
  const blanked: { start: number; end: number }[] = [];
  const visit = (node: AnyNode, parent?: AnyNode): void => {
    if (node.type === 'StaticBlock' && isNaming(node)) return;
    if (node.type === 'ExpressionStatement' && isNameCall(node.expression)) {
      blanked.push(node);
      return;
    }
    if (isNameCall(node)) {
      const [, name] = node.arguments;
      blanked.push(node.callee, { start: code.lastIndexOf(',', name!.start), end: name!.end });
    }
    if (node.type === 'ClassExpression' || node.type === 'ClassDeclaration') {
      const naming = node.body.body.find((member) => isNaming(member));
      if (naming && nameSetBy(naming) === ownName(node, parent)) blanked.push(naming);
    }
    for (const child of childrenOf(node)) visit(child, node);
  };
  visit(program);
  return blank(code, blanked);
}

/** `static { __name(this, "Order"); }` */
export function isNaming(node: AnyNode): boolean {
  return node.type === 'StaticBlock' && nameSetBy(node) !== undefined;
}

function nameSetBy(node: AnyNode): string | undefined {
  if (node.type !== 'StaticBlock' || node.body.length !== 1) return undefined;
  const [statement] = node.body;
  if (statement?.type !== 'ExpressionStatement' || !isNameCall(statement.expression)) return undefined;
  const [target, name] = statement.expression.arguments;
  return target?.type === 'ThisExpression' && name?.type === 'Literal' ? String(name.value) : undefined;
}

const isNameCall = (node: AnyNode): node is CallExpression =>
  node.type === 'CallExpression' &&
  node.callee.type === 'Identifier' &&
  node.callee.name === '__name' &&
  node.arguments.length === 2;

/** By which the class would be known by itself. */
function ownName(node: AnyNode, parent: AnyNode | undefined): string | undefined {
  if ((node.type === 'ClassExpression' || node.type === 'ClassDeclaration') && node.id) return node.id.name;
  if (parent?.type === 'VariableDeclarator' && parent.id.type === 'Identifier') return parent.id.name;
  return undefined;
}

function blank(code: string, places: { start: number; end: number }[]): string {
  const parts: string[] = [];
  let at = 0;
  for (const { start, end } of places.sort((a, b) => a.start - b.start)) {
    parts.push(code.slice(at, start), code.slice(start, end).replace(/[^\n]/g, ' '));
    at = end;
  }
  return parts.join('') + code.slice(at);
}
