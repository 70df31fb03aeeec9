/** Which of the schemas of a union a value is meant for. */
import type { UnionField } from './field.js';
import { fieldOf } from './field.js';
import { isObject, type JsonSchema, resolved } from './schema.js';
import { type Path, pathKey } from './value.js';

/** The variants that were chosen by hand, by the path of their union. */
export type Choices = Readonly<Record<string, number>>;

export function variantOf(
  { variants, discriminator }: Pick<UnionField, 'variants' | 'discriminator'>,
  value: unknown,
  { root, path, choices }: { root: JsonSchema; path: Path; choices: Choices },
): number {
  const chosen = choices[pathKey(path)];
  const scores = variants.map((schema) => likeness(schema, value, discriminator, root));
  const best = Math.max(...scores);
  // A choice stands until the value is plainly of another kind, as after an edit of the JSON.
  if (chosen !== undefined && (scores[chosen] ?? 0) > 0) return chosen;
  if (best <= 0 && chosen !== undefined && chosen < variants.length) return chosen;
  return Math.max(0, scores.indexOf(best));
}

/** 0: not of its kind at all. */
function likeness(
  schema: JsonSchema,
  value: unknown,
  discriminator: string | null,
  root: JsonSchema,
): number {
  const field = fieldOf({ schema, root });
  switch (field.kind) {
    case 'text':
      return typeof value === 'string' ? 2 : 0;
    case 'number':
      return typeof value === 'number' && (!field.isInteger || Number.isInteger(value)) ? 2 : 0;
    case 'boolean':
      return typeof value === 'boolean' ? 2 : 0;
    case 'null':
      return value === null ? 2 : 0;
    case 'constant':
      return value === field.value ? 3 : 0;
    case 'choice':
      return field.choices.includes(value) ? 3 : 0;
    case 'list': {
      if (!Array.isArray(value)) return 0;
      const fits = value.length >= field.minItems && value.length <= field.maxItems;
      return fits ? 3 : 2;
    }
    case 'object': {
      if (!isObject(value)) return 0;
      if (discriminator !== null && Object.hasOwn(value, discriminator)) {
        const member = field.members.find(({ name }) => name === discriminator);
        const { const: only, enum: some } = (member && resolved({ schema: member.schema, root })) ?? {};
        const isIt = Array.isArray(some)
          ? some.includes(value[discriminator])
          : only === value[discriminator];
        return isIt ? 1000 : 0;
      }
      const known = field.members.filter(({ name }) => Object.hasOwn(value, name)).length;
      const missing = field.members.filter(
        ({ name, isRequired }) => isRequired && !Object.hasOwn(value, name),
      );
      return Math.max(1, 2 + 2 * known - missing.length);
    }
    case 'union':
      return Math.max(...field.variants.map((inner) => likeness(inner, value, field.discriminator, root)));
    default:
      return 1;
  }
}

/** What to call the variants of a union: as they call themselves, else what tells them apart. */
export function variantLabels({ variants, discriminator }: UnionField, root: JsonSchema): string[] {
  const labels = variants.map((schema) => {
    const field = fieldOf({ schema, root });
    if (field.title !== null) return field.title;
    if (field.kind === 'object' && discriminator !== null) {
      const member = field.members.find(({ name }) => name === discriminator);
      const { const: only, enum: some } = (member && resolved({ schema: member.schema, root })) ?? {};
      const values = Array.isArray(some) ? some : [only];
      return values.map((value) => (typeof value === 'string' ? value : JSON.stringify(value))).join(' or ');
    }
    return kindText(field);
  });
  return labels.map((label, index) =>
    labels.indexOf(label) === labels.lastIndexOf(label) ? label : `${label} (${index + 1})`,
  );
}

/** The kind of a field in a word or two. */
export function kindText(field: ReturnType<typeof fieldOf>): string {
  switch (field.kind) {
    case 'text':
      return field.format ?? 'text';
    case 'number':
      return field.isInteger ? 'whole number' : 'number';
    case 'boolean':
      return 'yes or no';
    case 'choice':
      return 'choice';
    case 'constant':
      return JSON.stringify(field.value);
    case 'object': {
      const names = field.members.map(({ name }) => name);
      return names.length === 0
        ? 'object'
        : `object with ${names.slice(0, 3).join(', ')}${names.length > 3 ? '…' : ''}`;
    }
    case 'list':
      return field.first.length > 0 ? 'fixed list' : 'list';
    case 'union':
      return 'one of several';
    case 'null':
      return 'null';
    case 'json':
      return 'any JSON';
  }
}
