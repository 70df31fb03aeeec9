/**
 * Whether two engines did the same.
 *
 * Results, statuses, errors, answers, the runs there are and the meaning of every event must be equal. So must their
 * order, as far as it is not a matter of time:
 * 1. What happens between two actions of the script is compared with what happens between the same two.
 * 2. Therein, two events of statements that can only follow each other stand in the same order (numbering.ts). A
 *    program without anything side by side is thus compared event by event.
 * 3. The first turn of each phase meets a family at rest. Where everything before it was the same in order as well, so
 *    must be what it asks for, also where it cancels many things at once.
 *
 * Not compared: the order of events of statements that run beside each other, and whether the end of something that
 * nobody waits for any more came before the end of its run.
 */
import { CLOSE_EVENTS, COMMAND_EVENTS } from '../../src/core/history/event.js';
import type { Numbering } from './numbering.js';
import type { Observation, ObservedEvent, ObservedRun } from './observation.js';

export function differences(one: Observation, other: Observation, numbering: Numbering): string[] {
  const found: string[] = [];
  for (const each of [one, other]) {
    for (const run of each.runs) found.push(...run.brokenRules.map((rule) => `${run.who}: ${rule}`));
  }
  for (const each of [one, other]) found.push(...each.brokenPromises);
  compare(found, 'answers', one.answers, other.answers);
  if (one.isDetermined) {
    compare(found, 'budget met', one.met, other.met);
    compare(found, 'budget', one.budget, other.budget);
  }
  compare(found, 'begun', one.begun, other.begun);
  compare(found, 'runs', one.runs.map(summary), other.runs.map(summary));
  for (const run of one.runs) {
    const same = other.runs.find(({ who }) => who === run.who);
    if (same) compareRuns(found, run, same, numbering);
  }
  return found;
}

const summary = ({ who, status, result }: ObservedRun): unknown => ({ who, status, result });

function compareRuns(found: string[], one: ObservedRun, other: ObservedRun, numbering: Numbering): void {
  one.phases.forEach((events, phase) => {
    const [left, right] = withoutLoose(events, other.phases[phase] ?? [], numbering);
    comparePhases(found, `${one.who}, phase ${phase}`, left, right, numbering);
    const turn = one.firstTurns[phase]!;
    const otherTurn = other.firstTurns[phase];
    const given = (run: ObservedRun, { incoming }: typeof turn) =>
      [...run.phases.slice(0, phase).flat(), ...incoming].map(keyOf);
    if (otherTurn && same(given(one, turn), given(other, otherTurn))) {
      const [commands, otherCommands] = [turn.commands, otherTurn.commands].map((each) => each.map(keyOf));
      compare(found, `${one.who}, phase ${phase}, first turn`, commands, otherCommands);
    }
  });
  const numbers = one.phases.flat().map(numbered);
  const otherNumbers = other.phases.flat().map(numbered);
  const unnumbered = (run: ObservedRun) => run.phases.flat().map(keyOf);
  if (same(unnumbered(one), unnumbered(other))) compare(found, `${one.who}, numbers`, numbers, otherNumbers);
}

const numbered = (event: ObservedEvent): string => `${event.type} ${event.number ?? ''}`;

/** Drops ends that came on one side only, of what nobody waited for when the run closed. */
function withoutLoose(
  left: readonly ObservedEvent[],
  right: readonly ObservedEvent[],
  numbering: Numbering,
): [ObservedEvent[], ObservedEvent[]] {
  const closes = [left, right].every((events) => events.some((event) => CLOSE_EVENTS.has(event.type)));
  if (!closes) return [[...left], [...right]];
  const without = (events: readonly ObservedEvent[], others: readonly ObservedEvent[]) => {
    const keys = new Set(others.map(keyOf));
    return events.filter((event) => !isLeftBehind(event, numbering) || keys.has(keyOf(event)));
  };
  return [without(left, right), without(right, left)];
}

function comparePhases(
  found: string[],
  where: string,
  left: readonly ObservedEvent[],
  right: readonly ObservedEvent[],
  numbering: Numbering,
): void {
  const keys = counted(left);
  const otherKeys = counted(right);
  const missing = keys.filter((key) => !otherKeys.includes(key));
  const extra = otherKeys.filter((key) => !keys.includes(key));
  for (const key of missing) found.push(`${where}: only the first has ${key}`);
  for (const key of extra) found.push(`${where}: only the second has ${key}`);
  if (missing.length > 0 || extra.length > 0) return;
  const place = new Map(otherKeys.map((key, index) => [key, index]));
  left.forEach((event, i) => {
    for (let j = i + 1; j < left.length; j++) {
      const inOrder = place.get(keys[i]!)! < place.get(keys[j]!)!;
      if (!inOrder && isOrdered(event, left[j]!, numbering)) {
        found.push(`${where}: the first has ${keys[i]} before ${keys[j]}, the second after it`);
      }
    }
  });
}

function isOrdered(one: ObservedEvent, other: ObservedEvent, numbering: Numbering): boolean {
  if (isBoundary(one) || isBoundary(other)) return true;
  if (one.site === undefined || other.site === undefined) return false;
  if (one.site === other.site) return !isAnswerToCancel(one) && !isAnswerToCancel(other);
  if (isLeftBehind(one, numbering) || isLeftBehind(other, numbering)) return false;
  return numbering.isOrdered(one.site, other.site);
}

/** That a child was told to stop comes back beside how it ended. */
const isAnswerToCancel = ({ type }: ObservedEvent): boolean =>
  type === 'EXTERNAL_WORKFLOW_EXECUTION_CANCEL_REQUESTED';

/** The end of something whose caller may have gone on. */
const isLeftBehind = ({ site, type }: ObservedEvent, numbering: Numbering): boolean =>
  site !== undefined && !COMMAND_EVENTS.has(type) && numbering.isLeftBehind(site);

const isBoundary = ({ type }: ObservedEvent): boolean =>
  type === 'WORKFLOW_EXECUTION_STARTED' || CLOSE_EVENTS.has(type);

/** Keys of events, equal ones told apart by their count. */
function counted(events: readonly ObservedEvent[]): string[] {
  const counts = new Map<string, number>();
  return events.map((event) => {
    const key = keyOf(event);
    const count = (counts.get(key) ?? 0) + 1;
    counts.set(key, count);
    return count === 1 ? key : `${key} (${count}.)`;
  });
}

export function keyOf({ type, site, meaning }: ObservedEvent): string {
  return `${type}${site === undefined ? '' : ` of ${site}`} ${stable(meaning)}`;
}

/** JSON with sorted keys: their order is nobody's promise. */
export function stable(value: unknown): string {
  return JSON.stringify(value, (_, each: unknown) =>
    typeof each === 'object' && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).sort(([one], [other]) => (one < other ? -1 : 1)))
      : each,
  );
}

function same(one: unknown, other: unknown): boolean {
  return stable(one) === stable(other);
}

function compare(found: string[], what: string, one: unknown, other: unknown): void {
  if (same(one, other)) return;
  found.push(`${what}:\n    first  ${stable(one)}\n    second ${stable(other)}`);
}
