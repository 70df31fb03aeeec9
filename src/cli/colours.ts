/**
 * What each of the two outputs takes, by itself: one may be a terminal while the other goes into a file. NO_COLOR and FORCE_COLOR
 * say otherwise for colours; whether lines can be drawn over depends on the terminal alone.
 */
import pc from 'picocolors';

type Output = { isTTY?: boolean };
type Environment = Record<string, string | undefined>;

export type Colours = ReturnType<typeof pc.createColors>;

export function takesColours(output: Output, env: Environment = process.env): boolean {
  if (env.NO_COLOR) return false;
  if (env.FORCE_COLOR) return !['0', 'false'].includes(env.FORCE_COLOR);
  return canDraw(output, env);
}

/** Whether it is a terminal whose cursor can be moved. */
export const canDraw = (output: Output, env: Environment = process.env): boolean =>
  output.isTTY === true && env.TERM !== 'dumb';

export const out: Colours = pc.createColors(takesColours(process.stdout));
export const err: Colours = pc.createColors(takesColours(process.stderr));
