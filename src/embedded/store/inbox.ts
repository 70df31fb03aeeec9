/**
 * What arrived for a run while a turn was under way: groups of events that get their numbers in the history when the
 * turn has ended.
 *
 * 1. Every group has a number of its own, by which it is on disk. A number is never given again while a row with it may
 *    be there, so what is saved follows from what came and went, never from how many there are.
 * 2. What is on disk is remembered only when the commit has returned (`saved`).
 */
import type { NewEvent } from '../../core/history/event.js';
import { isPauseSignal } from '../../core/run/pause.js';
import { eventBytes } from '../state/event-bytes.js';

/** What waits counts as what it will be: a part of the history. */
export interface Waiting {
  events: number;
  bytes: number;
  /** Those of callers and workflows. */
  signals: number;
}

export interface InboxGroup {
  seq: number;
  events: NewEvent[];
}

export class Inbox {
  #waiting: Waiting = { events: 0, bytes: 0, signals: 0 };
  #groups: InboxGroup[] = [];
  #nextSeq = 1;
  /** Groups up to this number have been saved; those of them that are no longer here were taken. */
  #savedUpTo = 0;
  /** Groups that were taken still have their rows. */
  #hasTakenRows = false;

  /** As it was read from disk. */
  static of(groups: InboxGroup[]): Inbox {
    const inbox = new Inbox();
    inbox.#groups = groups;
    inbox.#savedUpTo = groups.at(-1)?.seq ?? 0;
    inbox.#nextSeq = inbox.#savedUpTo + 1;
    for (const { events } of groups) inbox.#count(events);
    return inbox;
  }

  push(events: NewEvent[]): void {
    this.#groups.push({ seq: this.#nextSeq++, events });
    this.#count(events);
  }

  #count(events: readonly NewEvent[]): void {
    for (const event of events) {
      this.#waiting.events++;
      this.#waiting.bytes += eventBytes(event);
      const isSignal = event.type === 'WORKFLOW_EXECUTION_SIGNALED';
      if (isSignal && !isPauseSignal(event.attributes.signalName)) this.#waiting.signals++;
    }
  }

  get waiting(): Readonly<Waiting> {
    return this.#waiting;
  }

  /** All that waits, in the order in which it came; from now on it is the caller's to record. */
  take(): NewEvent[][] {
    this.#waiting = { events: 0, bytes: 0, signals: 0 };
    const [first] = this.#groups;
    if (first && first.seq <= this.#savedUpTo) this.#hasTakenRows = true;
    const groups = this.#groups.map((group) => group.events);
    this.#groups = [];
    return groups;
  }

  get length(): number {
    return this.#groups.length;
  }

  get groups(): readonly InboxGroup[] {
    return this.#groups;
  }

  some(matches: (events: NewEvent[]) => boolean): boolean {
    return this.#groups.some((group) => matches(group.events));
  }

  /** What a save has to write: the groups without a row, and before which number rows have to go. */
  get unsaved(): { groups: InboxGroup[]; deleteBefore: number | undefined } {
    const groups = this.#groups.filter((group) => group.seq > this.#savedUpTo);
    return { groups, deleteBefore: this.#hasTakenRows ? this.#savedUpTo + 1 : undefined };
  }

  get isSaved(): boolean {
    return !this.#hasTakenRows && (this.#groups.at(-1)?.seq ?? 0) <= this.#savedUpTo;
  }

  /** What `unsaved` named is on disk. */
  saved(): void {
    this.#savedUpTo = this.#nextSeq - 1;
    this.#hasTakenRows = false;
  }
}
