/**
 * The watchdog's own thread: it lives on when user code blocks the main one, says so, and ends the process when that must
 * be: always with a word to the server about whose code it was (core/task.ts, 5).
 *
 * 1. Stalls are added up from the checks of this thread rather than read from a clock, and only what the main thread
 *    really had (main-thread-time.ts): neither a suspended process nor a busy machine is taken for code that hangs.
 * 2. A step that blocks the worker does so at its own cost: alone it may go on, at the cost of other steps it may not.
 */
import { writeSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import type { Culprit, LastWords, StepAttempt } from '../../core/task.js';
import { Witness } from '../../link/witness.js';
import { PULSE } from '../supervision/child-protocol.js';
import { MainThreadTime } from './main-thread-time.js';
import { runningStep } from './running-code.js';
import {
  attemptOf,
  CHECK_INTERVAL_MS,
  type Exiting,
  LABEL_BYTES,
  LAST_WORDS_MS,
  monotonicNow,
  PROGRESS,
  REPLAYED,
  SAID,
  TURN,
  type WatchdogData,
} from './watchdog-memory.js';

const data = workerData as WatchdogData;
const { counters, deadlines, turnTimeoutMs, blockMs, hangMs, maxRssBytes } = data;

/** A step gets this much beyond its time to be stopped by its AbortSignal. */
const OVERDUE_MS = 750;
/** A main thread that shows itself this often is not stalled, whatever its steps do. */
const STALL_MS = 900;
/** From here on the server is told, so that others need not wait to see how it ends. */
const SPEAK_MS = 450;
/** What only this attempt could have done is lost with it, so it gets longer. */
const ONLY_ATTEMPT_MS = 5_000;
/** Code that belongs to no step: what ended steps left behind, or ours, which a large message can keep busy for a second. */
const NOBODYS_MS = 3_000;
/** No turn takes longer, however much it replays. */
const WHOLE_TURN_MS = 60_000;
/** Of the main thread's time: on a busy machine it takes longer until it can be interrupted. */
const ASK_MS = 1_500;
/** While the main thread is blocked, the server hears this often that the process lives. */
const BLOCKED_EVERY_MS = 1_000;

const witness =
  data.witness &&
  new Witness(data.witness, () => {
    othersWait = true;
  });
const mainThread = new MainThreadTime();
let checkedAt = monotonicNow();
let seen = '';
let turnSeen = -1;
let stalledMs = 0;
/** The same by the clock: what is only said, and ends nothing, does not depend on whose fault it is. */
let quietMs = 0;
let turnMs = 0;
let saidBlockedAt = 0;
let isEnding = false;
/** In this stall, the server has said that steps which have not begun wait for this worker. */
let othersWait = false;
/** Whose code stalls the main thread: asked once in each stall. */
let answer: { step: string | undefined } | Asked | undefined;

/** The question is under way. It is given up after so much of the main thread's own time. */
class Asked {
  readonly #impatience = new AbortController();
  #ms = 0;

  constructor() {
    void runningStep(this.#impatience.signal).then((step) => {
      if (answer === this) answer = { step };
    });
  }

  waited(ms: number): void {
    this.#ms += ms;
    if (this.#ms >= ASK_MS) this.giveUp();
  }

  giveUp(): void {
    this.#impatience.abort();
  }
}

setInterval(() => {
  // Also while its last words leave, it is not frozen.
  if (isEnding) return pulse(PULSE.blocked);
  const now = monotonicNow();
  const wallMs = Math.min(now - checkedAt, 2 * CHECK_INTERVAL_MS);
  const passedMs = mainThread.taken(wallMs);
  checkedAt = now;

  const turn = Atomics.load(counters, TURN);
  const place = `${turn}/${Atomics.load(counters, REPLAYED)}/${Atomics.load(counters, PROGRESS)}`;
  stalledMs = place === seen ? stalledMs + passedMs : 0;
  quietMs = place === seen ? quietMs + wallMs : 0;
  turnMs = turn === turnSeen && isInsideTurn(turn) ? turnMs + passedMs : 0;
  seen = place;
  turnSeen = turn;
  if (answer instanceof Asked) answer.waited(passedMs);
  if (stalledMs === 0) {
    if (answer instanceof Asked) answer.giveUp();
    answer = undefined;
    othersWait = false;
  }
  pulse(quietMs > STALL_MS ? PULSE.blocked : PULSE.alive);

  if (process.ppid !== data.parentPid) kill('its parent process is gone');
  if (quietMs > Math.min(SPEAK_MS, turnTimeoutMs, blockMs, hangMs)) {
    if (isInsideTurn(turn)) watchTurn();
    else watchSteps(now);
    sayBlocked(now, turn);
  } else if (isInsideTurn(turn)) watchTurn();
  const rss = process.memoryUsage.rss();
  if (rss > maxRssBytes) {
    const reason = `it uses ${Math.round(rss / 2 ** 20)} MiB of memory, more than ${Math.round(maxRssBytes / 2 ** 20)}; running: ${running()}`;
    const slots = startedSlots();
    end(reason, isInsideTurn(turn) ? turnCulprit() : slots.length === 1 ? attemptIn(slots[0]!) : undefined);
  }
}, CHECK_INTERVAL_MS);

parentPort!.on('message', ({ culprit }: Exiting) => {
  isEnding = true;
  void say(culprit, 'user code ended the process').then(() => {
    Atomics.store(counters, SAID, 1);
    Atomics.notify(counters, SAID);
  });
});

function watchTurn(): void {
  if (stalledMs <= turnTimeoutMs && turnMs <= Math.max(WHOLE_TURN_MS, turnTimeoutMs)) return;
  const limitMs = stalledMs > turnTimeoutMs ? turnTimeoutMs : WHOLE_TURN_MS;
  end(
    `a turn did not end within ${limitMs} ms (an endless loop in workflow code?): ${labelOf(0)}`,
    turnCulprit(),
  );
}

function watchSteps(now: number): void {
  answer ??= new Asked();
  if (answer instanceof Asked) return;
  const slots = startedSlots();
  const { step } = answer;
  const culprit = step === undefined ? undefined : attemptOf(step);
  const overdue = slots.find((slot) => deadlines[slot]! + OVERDUE_MS < now);
  if (overdue !== undefined && stalledMs > STALL_MS) {
    end(
      `a step blocks the worker beyond its time: ${nameOf(step) ?? labelOf(overdue)}`,
      culprit ?? attemptIn(overdue),
    );
  } else {
    const limitMs = Math.min(limitOf(slots, step), hangMs);
    if (stalledMs > limitMs) {
      const who = step === undefined ? running() : (nameOf(step) ?? 'what a step that has ended left behind');
      end(`something has blocked the worker for ${limitMs} ms; running: ${who}`, culprit);
    }
  }
}

function sayBlocked(now: number, turn: number): void {
  if (isEnding || !data.witness || now - saidBlockedAt < BLOCKED_EVERY_MS) return;
  saidBlockedAt = now;
  const { workerId } = data.witness;
  const started = startedSlots().map(attemptIn);
  const turnId = isInsideTurn(turn) ? { turnId: data.turnIds[0]! } : {};
  void witness?.say({ kind: 'blocked', workerId, ...turnId, started }, BLOCKED_EVERY_MS);
}

/** How long the main thread may be blocked, given the steps that have begun and the one that blocks it, if it is known. */
function limitOf(slots: number[], step: string | undefined): number {
  if (slots.length === 0) return NOBODYS_MS;
  const others = slots.filter((slot) => step === undefined || keyIn(slot) !== step);
  const isAlone = others.length === 0 || (others.length === 1 && step === undefined);
  if (isAlone && !othersWait) return hangMs;
  // To wait costs them time; to be lost would fail them.
  if (!isAlone && others.some((slot) => data.onlyAttempts[slot] === 1)) return hangMs;
  return slots.some((slot) => data.onlyAttempts[slot] === 1) ? ONLY_ATTEMPT_MS : blockMs;
}

/** The counter goes up when a turn begins and when it ends. */
function isInsideTurn(counter: number): boolean {
  return counter % 2 !== 0;
}

function startedSlots(): number[] {
  const slots: number[] = [];
  deadlines.forEach((deadline, slot) => {
    if (deadline !== 0) slots.push(slot);
  });
  return slots;
}

function textIn(slot: number): string {
  const bytes = data.labels.subarray(slot * LABEL_BYTES, (slot + 1) * LABEL_BYTES);
  const end = bytes.indexOf(0);
  return Buffer.from(bytes.subarray(0, end < 0 ? LABEL_BYTES : end)).toString();
}

function keyIn(slot: number): string {
  const text = textIn(slot);
  return text.slice(0, text.indexOf(' '));
}

const attemptIn = (slot: number): StepAttempt => attemptOf(keyIn(slot));
const turnCulprit = (): Culprit => ({ turnId: data.turnIds[0]! });

function labelOf(slot: number): string {
  const text = textIn(slot);
  return slot === 0 ? text : text.slice(text.indexOf(' ') + 1);
}

function nameOf(step: string | undefined): string | undefined {
  const slot = startedSlots().find((each) => keyIn(each) === step);
  return slot === undefined ? undefined : labelOf(slot);
}

function running(): string {
  const slots = startedSlots();
  if (isInsideTurn(turnSeen)) slots.unshift(0);
  const shown = slots.slice(0, 5).map(labelOf);
  return `${shown.join(', ') || 'nothing that the worker knows of'}${slots.length > 5 ? ` and ${slots.length - 5} more` : ''}`;
}

function end(reason: string, culprit: Culprit | undefined): void {
  if (isEnding) return;
  isEnding = true;
  void say(culprit, reason).then(() => kill(reason));
}

async function say(culprit: Culprit | undefined, reason: string): Promise<void> {
  if (!data.witness) return;
  const { workerId } = data.witness;
  const words: LastWords = { started: startedSlots().map(attemptIn), reason, ...(culprit && { culprit }) };
  await witness?.say({ kind: 'lastWords', workerId, ...words }, LAST_WORDS_MS);
}

function pulse(sign: string): void {
  if (data.pulseFd === undefined) return;
  try {
    writeSync(data.pulseFd, sign);
  } catch {
    // The supervisor does not read at the moment, or is gone.
  }
}

function kill(reason: string): never {
  try {
    writeSync(2, `worker ${process.pid} is ended by its watchdog: ${reason}\n`);
  } catch {
    // Nobody reads it any more.
  }
  process.kill(process.pid, 'SIGKILL');
  throw new Error('unreachable');
}
