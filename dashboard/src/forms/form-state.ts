/**
 * A form and the JSON beside it, as one state: whichever is edited, the other follows at once. While the text is not
 * JSON the form stands still with the last value that was, and nothing of the text is lost.
 */
import { type Check, type Checker, checkerOf } from './check.js';
import { readJson, writeJson } from './json-text.js';
import type { JsonSchema } from './schema.js';
import { startingValue } from './starting-value.js';
import { type Path, pathKey, valueAt, withValue } from './value.js';
import type { Choices } from './variant.js';

/** What the variants of a union held when another one was chosen, by the path of the union. */
export type Drafts = Readonly<Record<string, Readonly<Record<number, unknown>>>>;

export interface FormState {
  schema: JsonSchema | null;
  value: unknown;
  text: string;
  /** Why the text is not JSON; null while it is. */
  textError: string | null;
  choices: Choices;
  drafts: Drafts;
  /** Places of the form whose own text is not JSON yet, so that the value does not have it. */
  unread: readonly string[];
  check: Check;
  checker: Checker;
}

export type FormAction =
  | { type: 'value'; path: Path; value: unknown }
  | { type: 'choice'; path: Path; from: number; variant: number; value: unknown }
  | { type: 'text'; text: string }
  | { type: 'unread'; path: Path }
  | { type: 'replace'; value: unknown };

/** Begins with the value, or with what the schema says where there is none. */
export function formState(schema: JsonSchema | null, ...given: [value?: unknown]): FormState {
  const value =
    given.length > 0 ? given[0] : schema === null ? undefined : startingValue({ schema, root: schema });
  const checker = checkerOf(schema);
  const choices = {};
  return {
    schema,
    value,
    text: writeJson(value),
    textError: null,
    choices,
    drafts: {},
    unread: [],
    check: checker(value),
    checker,
  };
}

export function reduceForm(state: FormState, action: FormAction): FormState {
  switch (action.type) {
    case 'value': {
      const unread = unreadOutside(state, action.path);
      const drafts = draftsOutside(state, action.path);
      const value = withValue(state.value, action.path, action.value);
      return { ...holding(state, value, state.choices), unread, drafts };
    }
    case 'choice': {
      const { path, from, variant } = action;
      const key = pathKey(path);
      const choices = { ...state.choices, [key]: variant };
      const left = { ...state.drafts[key], [from]: valueAt(state.value, path) };
      const drafts = { ...draftsOutside(state, path), [key]: left };
      const unread = unreadOutside(state, path);
      // Whoever comes back to a variant finds it as it was left.
      const next = Object.hasOwn(left, variant) ? left[variant] : action.value;
      return { ...holding(state, withValue(state.value, path, next), choices), unread, drafts };
    }
    case 'replace':
      return { ...holding(state, action.value, {}), unread: [], drafts: {} };
    case 'unread':
      return { ...state, unread: [...new Set([...state.unread, pathKey(action.path)])] };
    case 'text': {
      const { value, error } = readJson(action.text);
      const text = action.text;
      if (error !== null) return { ...state, text, textError: error };
      return {
        ...state,
        text,
        textError: null,
        value,
        unread: [],
        check: state.checker(value, state.choices),
      };
    }
  }
}

/** With a value goes what was typed inside of it and could not be read. */
function unreadOutside({ unread }: FormState, path: Path): string[] {
  return unread.filter((key) => key !== pathKey(path) && !isInside(key, path));
}

/** With a value go the drafts inside of it: another item of a list, or another form, may have their place now. */
function draftsOutside({ drafts }: FormState, path: Path): Drafts {
  return Object.fromEntries(Object.entries(drafts).filter(([key]) => !isInside(key, path)));
}

function isInside(key: string, path: Path): boolean {
  const start = pathKey(path).slice(0, -1);
  return key !== pathKey(path) && key.startsWith(path.length === 0 ? start : `${start},`);
}

function holding(state: FormState, value: unknown, choices: Choices): FormState {
  const check = state.checker(value, choices);
  return { ...state, value, text: writeJson(value), textError: null, choices, check };
}

/** Whether it may be sent without asking: all that can be checked here fits. */
export const isFit = (form: FormState): boolean => isSendable(form) && form.check.problems.length === 0;

/** Whether there is a value to send at all: every text of the form has been read. */
export const isSendable = ({ textError, unread }: FormState): boolean =>
  textError === null && unread.length === 0;
