/** What names and ids may look like; one place, since routes, the engines and the loader must agree. */
import { isWellFormed } from './text.js';

/** Workflows, steps and aliases: they end up in queries of an engine's query language, so an allow-list. */
export const NAME_PATTERN = /^[A-Za-z_][A-Za-z0-9_]*$/;
export const MAX_NAME_LENGTH = 100;

export const CATALOG_PATTERN = /^[A-Za-z0-9_.@-]+$/;
export const MAX_CATALOG_LENGTH = 200;

export const MAX_WORKFLOW_ID_LENGTH = 255;
/** Its paths would collide with the routes of the catalog. */
export const RESERVED_WORKFLOW_ID = 'catalog';

/** Signals, queries, updates. */
export const MAX_MESSAGE_NAME_LENGTH = 200;
export const MAX_PATCH_ID_LENGTH = 200;

const UUID_PATTERN = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const CONTROL_CHARACTER = /[\u0000-\u001f\u007f-\u009f]/;

export const isName = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= MAX_NAME_LENGTH && NAME_PATTERN.test(value);

export const isCatalogName = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= MAX_CATALOG_LENGTH && CATALOG_PATTERN.test(value);

/** In words, for whoever gives one that is none. */
export const WORKFLOW_ID_RULE = `1 to ${MAX_WORKFLOW_ID_LENGTH} characters, none of them a control character or half a surrogate pair, and not "${RESERVED_WORKFLOW_ID}"`;

export const isWorkflowId = (value: unknown): value is string =>
  typeof value === 'string' &&
  value.length >= 1 &&
  value.length <= MAX_WORKFLOW_ID_LENGTH &&
  value !== RESERVED_WORKFLOW_ID &&
  !CONTROL_CHARACTER.test(value) &&
  isWellFormed(value);

export const isMessageName = (value: unknown): value is string => isText(value, MAX_MESSAGE_NAME_LENGTH);

export const isPatchId = (value: unknown): value is string => isText(value, MAX_PATCH_ID_LENGTH);

const isText = (value: unknown, maxLength: number): boolean =>
  typeof value === 'string' && value !== '' && value.length <= maxLength && isWellFormed(value);

export const isRunId = (value: unknown): value is string =>
  typeof value === 'string' && UUID_PATTERN.test(value);
