/** One of several forms: which one, and its field. */
import { useId } from 'react';
import type { UnionField } from './field.js';
import { useForm } from './form-context.js';
import { startingValue } from './starting-value.js';
import type { Path } from './value.js';
import { variantLabels, variantOf } from './variant.js';

export function UnionInput({ field, path, value }: { field: UnionField; path: Path; value: unknown }) {
  const { Field, dispatch, root, form } = useForm();
  const id = useId();
  const labels = variantLabels(field, root);
  const at = variantOf(field, value, { root, path, choices: form.choices });
  const choose = (variant: number) => {
    const next = startingValue({ schema: field.variants[variant]!, root });
    dispatch({ type: 'choice', path, from: at, variant, value: next === undefined ? null : next });
  };
  return (
    <div className="members">
      <div className="field">
        <label className="field-hint" htmlFor={id}>
          Which form
        </label>
        <select id={id} className="select" value={at} onChange={({ target }) => choose(Number(target.value))}>
          {labels.map((label, index) => (
            <option key={label} value={index}>
              {label}
            </option>
          ))}
        </select>
      </div>
      <Field schema={field.variants[at]!} name={labels[at]!} isRequired path={path} value={value} />
    </div>
  );
}
