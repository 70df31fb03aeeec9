/** One place of a value: its name, what is said about it, and the input that fits its schema. */
import { Fragment, type ReactNode, useId } from 'react';
import { IconButton } from '../components/Button.js';
import { type Field, fieldOf } from './field.js';
import { type FieldProps, fieldId, useForm } from './form-context.js';
import { BooleanInput, ChoiceInput, JsonInput, NumberInput, TextInput } from './inputs.js';
import { ListInput } from './ListInput.js';
import { ObjectInput } from './ObjectInput.js';
import { isObject, type JsonSchema } from './schema.js';
import { startingValue } from './starting-value.js';
import { UnionInput } from './UnionInput.js';

export function FieldView({ schema, path, value, name, isRequired, onRemove }: FieldProps) {
  const { id, root, dispatch, problemAt, onLeave } = useForm();
  const aboutId = useId();
  const field = fieldOf({ schema, root });
  const problem = problemAt(path);
  // What is wrong with one of several forms is said by the one that is chosen.
  const isWrong = problem !== undefined && (field.kind !== 'union' || value === undefined);
  const about = [field.description && `${aboutId}-hint`, isWrong && `${aboutId}-problem`]
    .filter(Boolean)
    .join(' ');
  const attributes = {
    id: fieldId(id, path),
    'aria-describedby': about || undefined,
    'aria-invalid': isWrong || undefined,
    'aria-required': isRequired || undefined,
    onBlur: () => onLeave(path),
  };
  const shown = { path, value, isRequired, attributes };
  const start = () => {
    const first = startingValue({ schema, root });
    dispatch({ type: 'value', path, value: first ?? emptyOf(field) });
  };
  // The place of an item stays, and without a value it would be null again.
  const isItem = typeof path.at(-1) === 'number';
  const withoutNull = () => emptyOf(field) ?? (isItem ? likelyOf(field, root) : undefined);
  const words = (
    <>
      {field.description && (
        <p id={`${aboutId}-hint`} className="field-hint">
          {field.description}
        </p>
      )}
      {isWrong && (
        <p id={`${aboutId}-problem`} className="field-problem">
          {label(field, name)} {problem}
        </p>
      )}
    </>
  );
  const tools = (
    <>
      {field.isNullable && (
        <label className="null-switch">
          <input
            type="checkbox"
            checked={value === null}
            onChange={({ target }) =>
              dispatch({ type: 'value', path, value: target.checked ? null : withoutNull() })
            }
          />
          null<span className="unseen"> for {label(field, name)}</span>
        </label>
      )}
      {onRemove && <IconButton icon="close" label={`Remove ${label(field, name)}`} onClick={onRemove} />}
    </>
  );
  // With spaces between them: a screen reader says them as one name.
  const notes = [
    isTitled(field, name) ? field.title : null,
    field.isDeprecated ? 'deprecated' : null,
    isRequired ? null : 'optional',
  ];
  const heading = (
    <>
      {label(field, name)}
      {notes.map(
        (note) =>
          note !== null && (
            <Fragment key={note}>
              {' '}
              <span className="field-note">{note}</span>
            </Fragment>
          ),
      )}
    </>
  );

  if (isGroup(field)) {
    const isThere = value !== undefined && value !== null && fits(field, value);
    const isOdd = value !== undefined && value !== null && !isThere;
    return (
      <fieldset className="group" data-field={path.at(-1)}>
        <legend>{heading}</legend>
        <div className="group-tools">
          {tools}
          {!isRequired && value !== undefined && !onRemove && (
            <IconButton
              icon="close"
              label={`Leave out ${label(field, name)}`}
              onClick={() => dispatch({ type: 'value', path, value: undefined })}
            />
          )}
        </div>
        {words}
        {isOdd && <JsonInput field={field} {...shown} />}
        {isThere && groupInput(field, shown)}
        {value === undefined && (
          <button type="button" className="link" id={attributes.id} onClick={start}>
            Add {label(field, name)}
          </button>
        )}
      </fieldset>
    );
  }
  return (
    <div className="field" data-field={path.at(-1)}>
      <div className="field-head">
        <label htmlFor={attributes.id}>{heading}</label>
        {tools}
      </div>
      {value === null && field.isNullable ? null : valueInput(field, shown)}
      {words}
    </div>
  );
}

/** A title may be that of a kind of value, which several fields have; their names tell them apart. */
const label = (field: Field, name: string): string => (isTitled(field, name) ? name : (field.title ?? name));
const isTitled = (field: Field, name: string): boolean =>
  field.title !== null && field.title.toLowerCase() !== name.toLowerCase();

type Shown = Parameters<typeof JsonInput>[0] extends infer P ? Omit<P, 'field'> : never;
type GroupField = Extract<Field, { kind: 'object' | 'list' | 'union' }>;

const isGroup = (field: Field): field is GroupField =>
  field.kind === 'object' || field.kind === 'list' || field.kind === 'union';

function groupInput(field: GroupField, { path, value }: Shown): ReactNode {
  switch (field.kind) {
    case 'object':
      return <ObjectInput field={field} path={path} value={value as Record<string, unknown>} />;
    case 'list':
      return <ListInput field={field} path={path} value={value as unknown[]} />;
    case 'union':
      return <UnionInput field={field} path={path} value={value} />;
  }
}

function valueInput(field: Exclude<Field, GroupField>, shown: Shown): ReactNode {
  // A value of another kind, as the JSON beside the form can have it, is shown as what it is.
  if (!fits(field, shown.value)) return <JsonInput field={field} {...shown} />;
  switch (field.kind) {
    case 'text':
      return <TextInput field={field} {...shown} />;
    case 'number':
      return <NumberInput field={field} {...shown} />;
    case 'boolean':
      return <BooleanInput field={field} {...shown} />;
    case 'choice':
      return <ChoiceInput field={field} {...shown} />;
    case 'constant':
      return <Fixed {...shown} value={field.value} held={shown.value} />;
    case 'null':
      return <Fixed {...shown} value={null} held={shown.value} />;
    case 'json':
      return <JsonInput field={field} {...shown} />;
  }
}

/** There is nothing to choose; where it may be left out, whether. */
function Fixed({ path, value, held, isRequired, attributes }: Shown & { held: unknown }) {
  const { dispatch } = useForm();
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return (
    <span className="checkbox">
      <input
        {...attributes}
        type="checkbox"
        checked={held !== undefined}
        disabled={isRequired && held !== undefined}
        onChange={({ target }) =>
          dispatch({ type: 'value', path, value: target.checked ? value : undefined })
        }
      />
      <code>{text}</code>
    </span>
  );
}

function fits(field: Field, value: unknown): boolean {
  if (value === undefined) return true;
  switch (field.kind) {
    case 'text':
      return typeof value === 'string';
    case 'number':
      // Null stands for a number that is not there yet, as in a new item of a list.
      return typeof value === 'number' || typeof value === 'string' || value === null;
    case 'boolean':
      return typeof value === 'boolean';
    case 'object':
      return isObject(value);
    case 'list':
      return Array.isArray(value);
    case 'constant':
    case 'null':
      return typeof value !== 'object' || value === null;
    default:
      return true;
  }
}

/** Something of its kind, to be changed. */
function likelyOf(field: Field, root: JsonSchema): unknown {
  switch (field.kind) {
    case 'number':
      return field.minimum ?? 0;
    case 'choice':
      return field.choices[0];
    case 'constant':
      return field.value;
    case 'union':
      return (
        startingValue({ schema: field.variants[0]!, root }) ??
        likelyOf(fieldOf({ schema: field.variants[0]!, root }), root)
      );
    default:
      return emptyOf(field) ?? {};
  }
}

function emptyOf(field: Field): unknown {
  switch (field.kind) {
    case 'text':
      return '';
    case 'boolean':
      return false;
    case 'object':
      return {};
    case 'list':
      return [];
    default:
      return undefined;
  }
}
