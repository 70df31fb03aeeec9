/** Which code a worker runs. */
export interface CodeVersion {
  /** A hash of the code: the same for the same files, wherever and whenever they are loaded. */
  id: string;
  /** What the operator calls it, such as a release or a commit. */
  name: string | null;
}

/** Names end up in labels and in ids on a Temporal cluster. */
export const VERSION_NAME_PATTERN = /^[A-Za-z0-9_.@:/+-]+$/;
export const MAX_VERSION_NAME_LENGTH = 100;
const MAX_ID_LENGTH = 100;

export const isVersionName = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= MAX_VERSION_NAME_LENGTH && VERSION_NAME_PATTERN.test(value);

export const isVersionId = (value: unknown): value is string =>
  typeof value === 'string' && value !== '' && value.length <= MAX_ID_LENGTH && !value.includes('+');

/** As one text, for a column and for Temporal's build id: `name+id`, or the id alone. */
export const versionText = ({ id, name }: CodeVersion): string => (name === null ? id : `${name}+${id}`);

export function versionFromText(text: string): CodeVersion {
  const at = text.lastIndexOf('+');
  return { id: text.slice(at + 1), name: at < 0 ? null : text.slice(0, at) };
}

/** For a line that a person reads: the name, or the beginning of the hash. */
export const versionLabel = ({ id, name }: CodeVersion): string => name ?? id.slice(0, 8);
