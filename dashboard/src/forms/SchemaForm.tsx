/** A form made from a schema, with the JSON of its value beside it; whichever is edited, the other follows. */
import { type Dispatch, useId, useMemo, useReducer, useState } from 'react';
import { FieldView } from './FieldView.js';
import { FormContext, fieldId } from './form-context.js';
import { type FormAction, type FormState, formState, reduceForm } from './form-state.js';
import './forms.css';
import type { Problem } from './check.js';
import type { JsonSchema } from './schema.js';
import { type Path, pathKey, pathText } from './value.js';

export interface SchemaFormState {
  form: FormState;
  dispatch: Dispatch<FormAction>;
}

/** Begins with the value where one is given, else with what the schema says. */
export function useSchemaForm(schema: JsonSchema | null, ...given: [value?: unknown]): SchemaFormState {
  const [form, dispatch] = useReducer(reduceForm, undefined, () => formState(schema, ...given));
  return { form, dispatch };
}

export function SchemaForm({
  form,
  dispatch,
  label,
  isShowingAll,
  refused = [],
}: SchemaFormState & {
  label: string;
  /** Also what is wrong where nobody has been yet: after an attempt to send it. */
  isShowingAll: boolean;
  /** What the service has said of this value. */
  refused?: Problem[];
}) {
  const id = useId();
  const [visited, setVisited] = useState<ReadonlySet<string>>(new Set());
  const problems = useMemo(() => {
    const all = [...form.check.problems, ...refused].map(
      ({ path, message }) => [pathKey(path), message] as const,
    );
    // The first of a place stands.
    return new Map(all.toReversed());
  }, [form.check, refused]);
  const root = form.schema;
  if (root === null) return <JsonBeside {...{ form, dispatch, label, id }} isAlone />;
  const parts = {
    ...{ form, dispatch, root, id, Field: FieldView },
    problemAt: (path: Path) =>
      isShowingAll || visited.has(pathKey(path)) ? problems.get(pathKey(path)) : undefined,
    onLeave: (path: Path) => setVisited((before) => new Set(before).add(pathKey(path))),
  };
  return (
    <div className="schema-form">
      <div className="schema-fields" inert={form.textError !== null}>
        <FormContext value={parts}>
          <FieldView schema={root} path={[]} value={form.value} name={label} isRequired />
        </FormContext>
      </div>
      <JsonBeside {...{ form, dispatch, label, id }} />
    </div>
  );
}

function JsonBeside({
  form: { text, textError, check },
  dispatch,
  label,
  id,
  isAlone = false,
}: SchemaFormState & { label: string; id: string; isAlone?: boolean }) {
  return (
    <div className="field json-beside">
      <label htmlFor={`${id}-json`}>{isAlone ? label : `${label} as JSON`}</label>
      <textarea
        id={`${id}-json`}
        className="input mono"
        spellCheck={false}
        rows={isAlone ? 6 : Math.min(24, Math.max(5, text.split('\n').length + 1))}
        value={text}
        aria-invalid={textError !== null || undefined}
        aria-describedby={`${id}-json-about`}
        onChange={({ target }) => dispatch({ type: 'text', text: target.value })}
      />
      <p
        id={`${id}-json-about`}
        className={textError === null ? 'field-hint' : 'field-problem'}
        role="status"
      >
        {textError ??
          (isAlone
            ? 'It has no schema: any JSON, or nothing.'
            : check.unable !== null
              ? 'Its schema cannot be checked here; the service will.'
              : 'Edit here or in the form, the other follows.')}
      </p>
    </div>
  );
}

/** What is wrong, as a list whose entries lead to the place. */
export function Problems({ problems, form }: { problems: Problem[]; form: string }) {
  return (
    <ul className="problems">
      {problems.slice(0, 12).map(({ path, message }) => (
        <li key={pathKey(path)}>
          <button type="button" className="link" onClick={() => focusField(form, path)}>
            {path.length === 0 ? 'It' : pathText(path)}
          </button>{' '}
          {message}
        </li>
      ))}
      {problems.length > 12 && <li>and {problems.length - 12} more</li>}
    </ul>
  );
}

/** The field of the place, or of the nearest one around it that has one. */
export function focusField(form: string, path: Path): void {
  const element = document.getElementById(form);
  for (let length = path.length; length >= 0; length--) {
    const end = fieldId('', path.slice(0, length));
    const field = element?.querySelector<HTMLElement>(`[id$="${end}"]`);
    if (!field) continue;
    field.focus();
    return;
  }
}
