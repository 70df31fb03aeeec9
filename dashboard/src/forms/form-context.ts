/** What the fields of one form share. They reach each other through it, so that no file needs one above it. */
import { type ComponentType, createContext, type Dispatch, useContext } from 'react';
import type { FormAction, FormState } from './form-state.js';
import type { JsonSchema } from './schema.js';
import { type Path, pathKey } from './value.js';

export interface FieldProps {
  schema: JsonSchema;
  path: Path;
  value: unknown;
  /** What the field is called where its schema has no title. */
  name: string;
  isRequired: boolean;
  /** Takes the place away altogether, where that is not the same as leaving it empty. */
  onRemove?: () => void;
}

export interface FormParts {
  form: FormState;
  dispatch: Dispatch<FormAction>;
  root: JsonSchema;
  id: string;
  /** What to say about a place, once there is reason to. */
  problemAt(path: Path): string | undefined;
  /** Somebody has been there. */
  onLeave(path: Path): void;
  Field: ComponentType<FieldProps>;
}

export const FormContext = createContext<FormParts | undefined>(undefined);

export function useForm(): FormParts {
  const parts = useContext(FormContext);
  if (!parts) throw new Error('A field stands outside of a form');
  return parts;
}

/** Ids have no spaces, and names of members may have anything. */
export const fieldId = (id: string, path: Path): string => `${id}${encodeURIComponent(pathKey(path))}`;
