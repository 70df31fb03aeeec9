/**
 * How time passes for those who wait in a test.
 *
 * 1. Time moves only when nothing is left to do at its instant, and then to the next instant at which something is due.
 * 2. While the code of a step runs, time does not jump: such code takes real time, and so does whoever waits for it. Time
 *    then passes as it does outside, so that a step that hangs meets its timeout.
 * 3. Several may wait at a time. Whoever moves time does so in one go after having seen that nothing is left to do.
 */
import { clearTimeout, setImmediate, setTimeout } from 'node:timers';
import { monotonicMs } from '../core/clock.js';
import type { Stage } from './stage.js';
import type { VirtualTime } from './virtual-time.js';

/** A step that ends sooner takes no time at all, so that what tests see of the clock does not depend on the machine. */
const UNNOTICED_MS = 100;

/** Less than test runners give a test, so that it is told before they give up. */
const SLOW_MS = 3_000;

/** How long those who wait for a message that nobody has sent give the rest of the test to send it, in real time. */
const PATIENCE_MS = 200;

/** Rounds of Node's loop after which nothing that began in the first of them is still on its way. */
const QUIET_ROUNDS = 2;

/** What goes on at one instant for longer than this is a workflow that never waits; who only sends it a message does not wait for its end. */
const MANY_ROUNDS = 1_000;

/** What others do in so many instants has nothing to do with a run that has waited all the while. */
const MANY_MOVES = 500;

export class Pace {
  #passing: Promise<void> | undefined;

  constructor(
    private readonly time: VirtualTime,
    private readonly stage: Stage,
  ) {}

  /** Until nothing is left to do at this instant but steps that are running. */
  async settle(maxRounds = Number.POSITIVE_INFINITY): Promise<void> {
    for (let quiet = 0, round = 0; quiet < QUIET_ROUNDS && round < maxRounds; round++) {
      await new Promise((resolve) => setImmediate(resolve));
      quiet = this.#isIdle ? quiet + 1 : 0;
      // What the engine keeps back for a few milliseconds would else wait for time to move.
      if (quiet === QUIET_ROUNDS && this.stage.flush()) quiet = 0;
    }
  }

  get #isIdle(): boolean {
    return this.time.isIdle && this.stage.isUp;
  }

  /** What follows from a message, as far as it follows soon. */
  afterMessage(): Promise<void> {
    return this.settle(MANY_ROUNDS);
  }

  /** Everything that is due in that time happens. With `isPassingSteps` time moves although steps are running. */
  async advance(ms: number, isPassingSteps: boolean): Promise<void> {
    const until = this.time.monotonicMs() + ms;
    for (;;) {
      await this.settle();
      if (this.stage.running > 0 && !isPassingSteps) {
        await this.#stepsRun();
        continue;
      }
      if (this.stage.releaseHeld()) continue;
      const { nextAt = Number.POSITIVE_INFINITY } = this.time;
      if (nextAt > until) break;
      this.time.moveTo(nextAt);
    }
    this.time.moveTo(until);
    await this.settle();
  }

  /**
   * Moves time until `look` gives something. `stuck` is called when nothing will ever happen by itself, or when only
   * others get on and `isStill` says each time that it is asked that nothing has happened to what is waited for.
   * @throws what `stuck` throws
   */
  async until<T>(
    look: () => Promise<T | undefined>,
    stuck: () => Promise<never>,
    isStill: () => Promise<boolean> = async () => false,
  ): Promise<T> {
    let patientSince: number | undefined;
    let moves = 0;
    for (;;) {
      await this.settle();
      const found = await look();
      if (found !== undefined) return found;
      if (!this.#isIdle) continue;
      if (this.stage.running > 0) {
        await this.#stepsRun();
      } else if (this.stage.releaseHeld()) {
        // It has its effect in the next round.
      } else if (this.time.nextAt !== undefined) {
        patientSince = undefined;
        if (++moves % MANY_MOVES === 0 && (await isStill())) await stuck();
        if (this.#isIdle && this.time.nextAt !== undefined) this.time.moveTo(this.time.nextAt);
      } else {
        patientSince ??= monotonicMs();
        if (monotonicMs() - patientSince > PATIENCE_MS) await stuck();
        await delay(5);
      }
    }
  }

  /** Until a step has said something or has ended. Time passes once, however many wait for it. */
  #stepsRun(): Promise<void> {
    this.#passing ??= this.#passWithSteps().finally(() => {
      this.#passing = undefined;
    });
    return this.#passing;
  }

  async #passWithSteps(): Promise<void> {
    const since = monotonicMs();
    let passed = 0;
    let hasChanged = false;
    const change = this.stage.stepChange().then(() => {
      hasChanged = true;
    });
    while (!hasChanged) {
      const pause = delay(UNNOTICED_MS);
      await Promise.race([change, pause]);
      pause.cancel();
      if (hasChanged) return;
      const ms = Math.floor(monotonicMs() - since);
      if (passed < SLOW_MS && ms >= SLOW_MS) this.stage.tellOfSlowSteps();
      this.time.moveTo(this.time.monotonicMs() + ms - passed);
      passed = ms;
    }
  }
}

/** In real time. */
function delay(ms: number): Promise<void> & { cancel(): void } {
  let timer!: NodeJS.Timeout;
  const promise = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  return Object.assign(promise, { cancel: () => clearTimeout(timer) });
}
