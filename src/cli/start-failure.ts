/** Why a command could not start, in one line, where a person can put it right. */

export class StartError extends Error {
  override readonly name = 'StartError';
}

/** By name rather than by class, so that wrong use is told without loading the whole program. */
const FOR_PEOPLE = [
  'StartError',
  'DataFolderError',
  'LoadError',
  'TraceFolderError',
  'ObjectStoreError',
  'MissingPeerError',
];

/** Undefined for what is our own bug. */
export function explainStartFailure(
  error: unknown,
  { port, host, option = '--port' }: { port?: number; host?: string; option?: string },
): string | undefined {
  if (!(error instanceof Error)) return undefined;
  if (FOR_PEOPLE.includes(error.name)) return error.message;
  const { code, syscall, path } = error as NodeJS.ErrnoException;
  // Files are refused by the same code as ports.
  if (path !== undefined && code === 'EACCES')
    return `${path} may not be used by this user (${code}, ${syscall})`;
  switch (code) {
    case 'EADDRINUSE':
      return `port ${port} is in use: stop what listens there, or choose another one with ${option}`;
    case 'EACCES':
      return `port ${port} may not be opened by this user: choose one above 1023 with ${option}`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `${host} is not an address of this machine: give one with --host`;
    default:
      return undefined;
  }
}
