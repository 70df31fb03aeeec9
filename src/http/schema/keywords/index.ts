/** What is understood of JSON Schema 2020-12. Any other keyword is an annotation. */
import type { Keyword } from '../validator.js';
import { COMPOSITION_KEYWORDS } from './composition.js';
import { CONTAINER_KEYWORDS } from './containers.js';
import { VALUE_KEYWORDS } from './values.js';

export const KEYWORDS: ReadonlyMap<string, Keyword> = new Map([
  ...VALUE_KEYWORDS,
  ...CONTAINER_KEYWORDS,
  ...COMPOSITION_KEYWORDS,
]);
