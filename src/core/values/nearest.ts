/** Which name was meant by one that is not known: for messages that help whoever mistyped it. */

/** The known name that differs least, if it is so little that it is likely to be meant. */
export function nearestName(name: string, known: Iterable<string>): string | undefined {
  const wanted = name.slice(0, MAX_LENGTH).toLowerCase();
  let nearest: string | undefined;
  let least = Math.min(MAX_WRONG, Math.ceil(wanted.length * WRONG_SHARE)) + 1;
  for (const candidate of known) {
    const away = distance(wanted, candidate.toLowerCase());
    if (away >= least) continue;
    least = away;
    nearest = candidate;
  }
  return nearest ?? longestWithin(wanted, known);
}

/** A known name with something before or after it, such as `includeBody` for `body`. */
function longestWithin(wanted: string, known: Iterable<string>): string | undefined {
  let longest: string | undefined;
  for (const candidate of known) {
    const isWithin = candidate.length >= MIN_WITHIN && wanted.includes(candidate.toLowerCase());
    if (isWithin && candidate.length > (longest?.length ?? 0)) longest = candidate;
  }
  return longest;
}

/** `unknown field "workflowID": did you mean "workflowId"?` */
export function unknownName(what: string, name: string, known: readonly string[]): string {
  const nearest = nearestName(name, known);
  const hint = nearest === undefined ? knownNames(known) : `did you mean ${JSON.stringify(nearest)}?`;
  return `unknown ${what} ${JSON.stringify(name.slice(0, MAX_LENGTH))}: ${hint}`;
}

const knownNames = (known: readonly string[]): string =>
  known.length === 0 ? 'there are none' : `there is ${known.join(', ')}`;

/** Of the letters of a name so many may be wrong; more than that, and it is another word rather than a slip. */
const WRONG_SHARE = 0.4;
const MAX_WRONG = 5;

/** Shorter words are found in others by chance. */
const MIN_WITHIN = 4;

/** Nobody mistypes a longer one, and comparing takes time with the square of it. */
const MAX_LENGTH = 100;

/** Letters that were added, left out, exchanged or swapped with their neighbour. */
function distance(a: string, b: string): number {
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1];
      let least = Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (isSame ? 0 : 1));
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (isSwapped) least = Math.min(least, before[j - 2]! + 1);
      next.push(least);
    }
    before = row;
    row = next;
  }
  return row[b.length]!;
}
