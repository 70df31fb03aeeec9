/** The Chromium of this machine, if there is one: the one that was named, or any on the PATH. */
export function findChromium(env?: NodeJS.ProcessEnv): string | undefined;
