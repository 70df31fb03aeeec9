/** JSON that people wrote. */

/** @throws SyntaxError that says where it is wrong, in lines as editors count them */
export function parseJson(text: string): unknown {
  // Some editors put a mark of the encoding in front, which is no part of it.
  const json = text.replace(/^\ufeff/, '');
  try {
    return JSON.parse(json);
  } catch (error) {
    const { message } = error as SyntaxError;
    const before = json.slice(0, positionOf(json, message)).split('\n');
    const where = `line ${before.length}, column ${before.at(-1)!.length + 1}`;
    const what = message
      .replace(/,? (in JSON )?at position \d+.*$/, '')
      .replace(/, (\.\.\.)?".* is not valid JSON$/s, '');
    throw new SyntaxError(`${what} at ${where}`);
  }
}

function positionOf(json: string, message: string): number {
  const [, told] = /at position (\d+)/.exec(message) ?? [];
  if (told !== undefined) return Number(told);
  if (!isUnexpected(json)) return json.length;
  // Of these it is not told where. What begins with something wrong stays wrong, so the shortest beginning ends with it.
  let right = 0;
  let wrong = json.length;
  while (wrong - right > 1) {
    const middle = (right + wrong) >> 1;
    if (isUnexpected(json.slice(0, middle))) wrong = middle;
    else right = middle;
  }
  return right;
}

function isUnexpected(json: string): boolean {
  try {
    JSON.parse(json);
    return false;
  } catch (error) {
    return (error as SyntaxError).message.startsWith('Unexpected token');
  }
}
