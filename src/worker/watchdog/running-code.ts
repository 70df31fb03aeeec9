/**
 * Which step's code the main thread executes at this moment, seen from another thread, also while it executes that code
 * and nothing else. A debugger can interrupt it anywhere and have it look at its own asynchronous context; there is no
 * cheaper way that costs nothing as long as nobody asks.
 */
import { Session } from 'node:inspector';

/** The global function of the main thread that is called for it. */
const LOOK = '__perdureRunningStep';

/** On the main thread: `look` answers with the step that the code which calls it belongs to. */
export function letOthersLook(look: () => string | undefined): void {
  Object.defineProperty(globalThis, LOOK, { value: look, configurable: true });
}

/** Between two steps of a chain of promises it is nobody's code that runs for a moment: one look could meet just that. */
const LOOKS = 5;
const BETWEEN_LOOKS_MS = 10;

/** On another thread. Undefined when it is no step's, or the main thread cannot be interrupted until `impatience` is aborted. */
export function runningStep(impatience: AbortSignal): Promise<string | undefined> {
  return new Promise((resolve) => {
    const session = new Session();
    let looks = 0;
    let nextLook: NodeJS.Timeout | undefined;
    let isOver = false;
    const end = (step?: string) => {
      isOver = true;
      impatience.removeEventListener('abort', giveUp);
      clearTimeout(nextLook);
      session.post('Debugger.disable');
      session.disconnect();
      resolve(step);
    };
    const giveUp = () => end();
    impatience.addEventListener('abort', giveUp);
    session.connectToMainThread();
    session.on('Debugger.paused', () => {
      session.post('Runtime.evaluate', { expression: `${LOOK}()`, returnByValue: true }, (error, answer) => {
        // A look under way when the time is up is answered with an error; to say anything more would be another one.
        if (isOver) return;
        const value: unknown = error ? undefined : answer.result.value;
        session.post('Debugger.resume');
        if (typeof value === 'string') end(value);
        else if (++looks === LOOKS) end();
        else nextLook = setTimeout(() => session.post('Debugger.pause'), BETWEEN_LOOKS_MS);
      });
    });
    session.post('Debugger.enable');
    session.post('Debugger.pause');
  });
}
