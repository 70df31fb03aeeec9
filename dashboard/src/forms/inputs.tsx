/** Fields that hold one value. */
import { type ChangeEvent, type KeyboardEvent, useState } from 'react';
import type { ChoiceField, NumberField, TextField } from './field.js';
import { useForm } from './form-context.js';
import { changedNumber, readJson, writeJson } from './json-text.js';
import { isSame, type Path } from './value.js';

export interface InputProps<F> {
  field: F;
  path: Path;
  value: unknown;
  isRequired: boolean;
  /** For the element itself: its id, what describes it, whether it is wrong. */
  attributes: {
    id: string;
    'aria-describedby': string | undefined;
    'aria-invalid': true | undefined;
    'aria-required': true | undefined;
    onBlur: () => void;
  };
}

const LONG_TEXT = 120;

export function TextInput({ field, path, value, isRequired, attributes }: InputProps<TextField>) {
  const { dispatch } = useForm();
  const onChange = ({ target }: ChangeEvent<HTMLInputElement | HTMLTextAreaElement>) => {
    // Emptied, an optional text is left out; the JSON beside the form can say an empty one.
    const isLeftOut = target.value === '' && !isRequired;
    dispatch({ type: 'value', path, value: isLeftOut ? undefined : target.value });
  };
  const shared = {
    ...attributes,
    className: 'input',
    value: typeof value === 'string' ? value : '',
    onChange,
    placeholder: placeholderOf(field),
    spellCheck: false,
    autoComplete: 'off',
  };
  if (field.format === 'date') return <input {...shared} type="date" />;
  const isShort = field.format !== null || (field.maxLength !== null && field.maxLength <= LONG_TEXT);
  return isShort ? (
    <input {...shared} type="text" inputMode={INPUT_MODES[field.format ?? ''] ?? 'text'} />
  ) : (
    <textarea {...shared} className="input grows" rows={1} onKeyDown={submitOnEnter} />
  );
}

const INPUT_MODES: Record<string, 'email' | 'url'> = { email: 'email', uri: 'url' };

const PLACEHOLDERS: Record<string, string> = {
  'date-time': '2026-01-31T13:45:00Z',
  time: '13:45:00Z',
  uri: 'https://',
  email: 'name@example.com',
  uuid: '00000000-0000-4000-8000-000000000000',
};

function placeholderOf(field: TextField): string | undefined {
  if (typeof field.default === 'string') return field.default;
  return field.format === null ? undefined : PLACEHOLDERS[field.format];
}

/** Enter sends, as in any field of one line; with Shift it makes a second one. */
function submitOnEnter(event: KeyboardEvent<HTMLTextAreaElement>): void {
  if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
  event.preventDefault();
  event.currentTarget.form?.requestSubmit();
}

const NUMBER = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i;

/** What is not a number, or not one that can be sent as it is, is kept as it was typed, and said to be wrong. */
export function numberOf(text: string): unknown {
  const trimmed = text.trim();
  if (trimmed === '') return undefined;
  const number = Number(trimmed);
  const isKept = Number.isFinite(number) && changedNumber(trimmed) === undefined;
  return NUMBER.test(trimmed) && isKept ? number : text;
}

export function NumberInput({ field, path, value, attributes }: InputProps<NumberField>) {
  const { dispatch } = useForm();
  const [draft, setDraft] = useState('');
  // "1." and "1.0" are on the way to other numbers than the one that they are.
  const isDraft = draft !== '' && Object.is(numberOf(draft), value);
  const text = value === undefined || value === null ? '' : String(value);
  return (
    <input
      {...attributes}
      className="input input-number"
      type="text"
      inputMode={field.isInteger ? 'numeric' : 'decimal'}
      autoComplete="off"
      value={isDraft ? draft : text}
      placeholder={typeof field.default === 'number' ? String(field.default) : undefined}
      onChange={({ target }) => {
        setDraft(target.value);
        dispatch({ type: 'value', path, value: numberOf(target.value) });
      }}
    />
  );
}

export function BooleanInput({ path, value, isRequired, attributes }: InputProps<unknown>) {
  const { dispatch } = useForm();
  if (isRequired) {
    return (
      <span className="checkbox">
        <input
          {...attributes}
          type="checkbox"
          checked={value === true}
          onChange={({ target }) => dispatch({ type: 'value', path, value: target.checked })}
        />
        <span className="muted" aria-hidden="true">
          {value === true ? 'Yes' : 'No'}
        </span>
      </span>
    );
  }
  return (
    <Select
      attributes={attributes}
      path={path}
      value={value}
      choices={[true, false]}
      labels={['Yes', 'No']}
      none="Not set"
    />
  );
}

export function ChoiceInput({ field, path, value, isRequired, attributes }: InputProps<ChoiceField>) {
  const labels = field.choices.map((choice) =>
    typeof choice === 'string' ? choice : JSON.stringify(choice),
  );
  return (
    <Select
      {...{ attributes, path, value, labels }}
      choices={field.choices}
      none={isRequired ? 'Choose…' : 'Not set'}
    />
  );
}

function Select({
  attributes,
  path,
  value,
  choices,
  labels,
  none,
}: Pick<InputProps<unknown>, 'attributes' | 'path' | 'value'> & {
  choices: unknown[];
  labels: string[];
  none: string;
}) {
  const { dispatch } = useForm();
  const at = choices.findIndex((choice) => isSame(choice, value));
  const isOther = at < 0 && value !== undefined && value !== null;
  return (
    <select
      {...attributes}
      className="select"
      value={at < 0 ? '' : String(at)}
      onChange={({ target }) => {
        dispatch({
          type: 'value',
          path,
          value: target.value === '' ? undefined : choices[Number(target.value)],
        });
      }}
    >
      <option value="">{isOther ? JSON.stringify(value) : none}</option>
      {labels.map((label, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the choices of a schema do not change places
        <option key={index} value={index}>
          {label}
        </option>
      ))}
    </select>
  );
}

/** Anything, as JSON. While it is not JSON, the form says so and is not sent. */
export function JsonInput({ path, value, isRequired, attributes }: InputProps<unknown>) {
  const { dispatch } = useForm();
  const [draft, setDraft] = useState(() => writeJson(value));
  const read = readJson(draft);
  const isCurrent = read.error !== null || isSame(read.value, value);
  const error = isCurrent ? read.error : null;
  return (
    <>
      <textarea
        {...attributes}
        className="input mono grows"
        rows={1}
        spellCheck={false}
        placeholder={isRequired ? 'JSON' : 'JSON, or nothing'}
        value={isCurrent ? draft : writeJson(value)}
        aria-invalid={error !== null || attributes['aria-invalid']}
        onChange={({ target }) => {
          setDraft(target.value);
          const next = readJson(target.value);
          if (next.error !== null) dispatch({ type: 'unread', path });
          else dispatch({ type: 'value', path, value: next.value });
        }}
      />
      {error !== null && <p className="field-problem">{error}</p>}
    </>
  );
}
