/** A schema to read: names, kinds, what is required, defaults and limits; and as JSON. */
import { useState } from 'react';
import { CopyButton } from '../components/CopyId.js';
import { type Field, fieldOf } from '../forms/field.js';
import type { JsonSchema } from '../forms/schema.js';
import { kindText, variantLabels } from '../forms/variant.js';

export function SchemaTree({ schema, label }: { schema: JsonSchema | null | undefined; label: string }) {
  const [isJson, setIsJson] = useState(false);
  if (!schema) return <p className="muted">{label}: anything, it has no schema.</p>;
  const text = JSON.stringify(schema, null, 2);
  return (
    <div className="schema">
      <div className="schema-head">
        <h3>{label}</h3>
        <div className="line">
          <fieldset className="switch" aria-label={`Form of ${label}`}>
            <button type="button" aria-pressed={!isJson} onClick={() => setIsJson(false)}>
              Fields
            </button>
            <button type="button" aria-pressed={isJson} onClick={() => setIsJson(true)}>
              JSON
            </button>
          </fieldset>
          <CopyButton text={text} label={`Copy the schema of ${label}`} />
        </div>
      </div>
      {isJson ? (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached with the keyboard
        <pre className="json json-text" tabIndex={0}>
          {text}
        </pre>
      ) : (
        <ul className="schema-fields-list">
          <Place schema={schema} root={schema} depth={0} />
        </ul>
      )}
    </div>
  );
}

interface PlaceProps {
  schema: JsonSchema;
  root: JsonSchema;
  depth: number;
  name?: string;
  isRequired?: boolean;
}

/** A schema that contains itself is opened this far by itself. */
const OPEN_TO_DEPTH = 3;

function Place({ schema, root, depth, name, isRequired = true }: PlaceProps) {
  const field = fieldOf({ schema, root });
  const inner = placesIn(field, root);
  const [isOpen, setIsOpen] = useState(depth < OPEN_TO_DEPTH);
  const isShownWhole = name === undefined && field.kind === 'object';
  return (
    <li className="schema-place">
      {!isShownWhole && (
        <p className="schema-line">
          {name !== undefined && <code className="schema-name">{name}</code>}
          <span className="schema-kind">{kindOf(field)}</span>
          {!isRequired && <span className="muted">optional</span>}
          {field.default !== undefined && (
            <span className="muted">
              default <code>{JSON.stringify(field.default)}</code>
            </span>
          )}
          {limitsOf(field).map((limit) => (
            <span key={limit} className="muted">
              {limit}
            </span>
          ))}
          {field.isDeprecated && <span className="muted">deprecated</span>}
        </p>
      )}
      {field.description && <p className="field-hint">{field.description}</p>}
      {inner.length > 0 &&
        (isOpen ? (
          <ul className={isShownWhole ? undefined : 'schema-inner'}>
            {inner.map((place) => (
              <Place key={place.name} {...place} root={root} depth={depth + 1} />
            ))}
          </ul>
        ) : (
          <button type="button" className="link" onClick={() => setIsOpen(true)}>
            Show what is inside
          </button>
        ))}
    </li>
  );
}

function placesIn(field: Field, root: JsonSchema): Omit<PlaceProps, 'root' | 'depth'>[] {
  switch (field.kind) {
    case 'object':
      return [
        ...field.members,
        ...(field.others
          ? [
              {
                name: field.others.names?.join(' | ') ?? '‹any name›',
                schema: field.others.schema,
                isRequired: false,
              },
            ]
          : []),
      ];
    case 'list':
      return [
        ...field.first.map((schema, index) => ({ name: `[${index}]`, schema })),
        ...(field.items && Object.keys(field.items).length > 0
          ? [{ name: field.first.length > 0 ? '[further]' : '[each]', schema: field.items }]
          : []),
      ];
    case 'union': {
      const labels = variantLabels(field, root);
      return field.variants.map((schema, index) => ({ name: labels[index]!, schema }));
    }
    default:
      return [];
  }
}

function kindOf(field: Field): string {
  const kind =
    field.kind === 'choice'
      ? field.choices.map((choice) => JSON.stringify(choice)).join(' | ')
      : field.kind === 'object'
        ? 'object'
        : field.kind === 'boolean'
          ? 'boolean'
          : field.kind === 'union'
            ? 'one of'
            : kindText(field);
  return field.isNullable ? `${kind} or null` : kind;
}

function limitsOf(field: Field): string[] {
  const limits: string[] = [];
  const add = (limit: number | null, words: (limit: number) => string) => {
    // What zod writes for every whole number is no limit that an author had in mind.
    if (limit !== null && Number.isFinite(limit) && Math.abs(limit) < Number.MAX_SAFE_INTEGER)
      limits.push(words(limit));
  };
  if (field.kind === 'number') {
    add(field.minimum, (limit) => `≥ ${limit}`);
    add(field.maximum, (limit) => `≤ ${limit}`);
    add(field.moreThan, (limit) => `> ${limit}`);
    add(field.lessThan, (limit) => `< ${limit}`);
    add(field.multipleOf, (limit) => `multiple of ${limit}`);
  }
  if (field.kind === 'text') {
    add(field.minLength, (limit) => (limit === 1 ? 'not empty' : `at least ${limit} characters`));
    add(field.maxLength, (limit) => `at most ${limit} characters`);
  }
  if (field.kind === 'list' && field.first.length === 0) {
    add(field.minItems || null, (limit) => `at least ${limit}`);
    add(field.maxItems, (limit) => `at most ${limit}`);
  }
  return limits;
}
