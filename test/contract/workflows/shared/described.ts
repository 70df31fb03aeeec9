/** An error as data, so that a case can see what the workflow caught. */
export interface Described {
  name: string;
  message: string;
  code?: unknown;
  activityType?: unknown;
  timeoutType?: unknown;
  cause?: Described;
}

export function described(error: unknown): Described {
  if (!(error instanceof Error)) return { name: typeof error, message: String(error) };
  const { code, activityType, timeoutType } = error as Error & Record<string, unknown>;
  const result: Described = { name: error.name, message: error.message };
  if (code !== undefined) result.code = code;
  if (activityType !== undefined) result.activityType = activityType;
  if (timeoutType !== undefined) result.timeoutType = timeoutType;
  if (error.cause !== undefined) result.cause = described(error.cause);
  return result;
}

/** What became of a promise: its value, or the error it gave. */
export async function settled<T>(promise: Promise<T>): Promise<{ value: T } | { error: Described }> {
  try {
    return { value: await promise };
  } catch (error) {
    return { error: described(error) };
  }
}

/** The error and everything behind it. */
export function causes(error: Described): Described[] {
  return error.cause ? [error, ...causes(error.cause)] : [error];
}

export function innermost(error: Described): Described {
  return causes(error).at(-1)!;
}
