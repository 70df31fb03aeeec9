/** The members of an object: those of its schema, those of other names, and what the schema does not know. */
import { useState } from 'react';
import { Button } from '../components/Button.js';
import { fieldOf, type Member, type ObjectField } from './field.js';
import { useForm } from './form-context.js';
import type { JsonSchema } from './schema.js';
import { startingValue } from './starting-value.js';
import { isSame, type Path } from './value.js';

export function ObjectInput({
  field,
  path,
  value,
}: {
  field: ObjectField;
  path: Path;
  value: Record<string, unknown>;
}) {
  const { Field, dispatch, root } = useForm();
  const { members, others } = field;
  const known = new Set(members.map(({ name }) => name));
  const further = Object.keys(value).filter((name) => !known.has(name));
  return (
    <div className="members">
      {members
        .filter((member) => !isSettled(member, value, root))
        .map(({ name, schema, isRequired }) => (
          <Field
            key={name}
            {...{ schema, name, isRequired }}
            path={[...path, name]}
            value={Object.hasOwn(value, name) ? value[name] : undefined}
          />
        ))}
      {others &&
        further.map((name) => (
          <Field
            key={name}
            schema={others.schema}
            name={name}
            isRequired
            path={[...path, name]}
            value={value[name]}
            onRemove={() => dispatch({ type: 'value', path: [...path, name], value: undefined })}
          />
        ))}
      {others && <AddEntry others={others} path={path} taken={value} />}
      {!others && further.length > 0 && (
        <p className="field-hint">
          Also has {further.map((name) => `“${name}”`).join(', ')}, which the schema does not know: see the
          JSON.
        </p>
      )}
      {members.length === 0 && !others && further.length === 0 && (
        <p className="field-hint">Has no members.</p>
      )}
    </div>
  );
}

/** A constant that has to be there and is: what tells the forms of a union apart, mostly. */
function isSettled(
  { name, schema, isRequired }: Member,
  value: Record<string, unknown>,
  root: JsonSchema,
): boolean {
  const field = fieldOf({ schema, root });
  return isRequired && field.kind === 'constant' && isSame(value[name], field.value);
}

function AddEntry({
  others,
  path,
  taken,
}: {
  others: NonNullable<ObjectField['others']>;
  path: Path;
  taken: Record<string, unknown>;
}) {
  const { dispatch, root } = useForm();
  const [name, setName] = useState('');
  const free = others.names?.filter((each) => !Object.hasOwn(taken, each));
  if (free?.length === 0) return null;
  const chosen = free && !free.includes(name) ? (free[0] ?? '') : name;
  const isTaken = Object.hasOwn(taken, chosen);
  const add = () => {
    if (chosen === '' || isTaken) return;
    const value = startingValue({ schema: others.schema, root }) ?? null;
    dispatch({ type: 'value', path: [...path, chosen], value });
    setName('');
  };
  return (
    <div className="line add-entry">
      {free ? (
        <select
          className="select"
          aria-label="Name of the new entry"
          value={chosen}
          onChange={({ target }) => setName(target.value)}
        >
          {free.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
      ) : (
        <input
          className="input"
          aria-label="Name of the new entry"
          placeholder="Name"
          value={name}
          onChange={({ target }) => setName(target.value)}
          onKeyDown={(event) => {
            if (event.key !== 'Enter') return;
            event.preventDefault();
            add();
          }}
        />
      )}
      <Button icon="plus" disabled={chosen === '' || isTaken} onClick={add}>
        Add entry
      </Button>
      {isTaken && <span className="field-problem">There is one of that name.</span>}
    </div>
  );
}
