/** Temporal's packages are optional peers, loaded only where the Temporal engine was chosen. */

const PACKAGES = ['client', 'worker', 'workflow', 'activity', 'common', 'proto'].map(
  (name) => `@temporalio/${name}`,
);

export class MissingPeerError extends Error {
  override readonly name = 'MissingPeerError';
}

/** What `load` imports. @throws MissingPeerError that says what to install */
export async function loadPeer<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    const { code, message } = error as Error & { code?: unknown };
    const missing = PACKAGES.find((name) => message.includes(name));
    if (code !== 'ERR_MODULE_NOT_FOUND' || missing === undefined) throw error;
    throw new MissingPeerError(
      `The Temporal engine needs the package ${missing}, which is not installed. Run: npm install ${PACKAGES.join(' ')}`,
      { cause: error },
    );
  }
}
