/** A text as one word of a command line that people can paste. */
export const shellWord = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

/** The same as the last word of a command, where one that begins with `-` would be taken for an option. */
export const lastWord = (text: string): string =>
  text.startsWith('-') ? `-- ${shellWord(text)}` : shellWord(text);
