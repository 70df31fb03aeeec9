/** What would happen a second time if it were sent again: whoever gets no answer to it is told to look first. */
import { CommandError, EXIT, mayBeTaken } from './failure.js';
import { interruptible } from './interruption.js';

/** @throws CommandError where it is unclear whether it was taken, else what the work throws */
export async function sentOnce<T>(
  what: string,
  look: string,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const unclear = `the ${what} may have been taken: look with \`${look}\` before you send it again`;
  try {
    return await interruptible(`; ${unclear}`, work);
  } catch (error) {
    if (!mayBeTaken(error)) throw error;
    // Part of a page for people, where a proxy has answered.
    const why = (error as Error).message.replaceAll(/\s+/g, ' ');
    throw new CommandError(EXIT.lost, `there was no answer (${why}); ${unclear}`);
  }
}
