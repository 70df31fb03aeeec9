/** Temporal's packages are optional peers, loaded only where the Temporal engine was chosen. */
import { readFileSync } from 'node:fs';

export class MissingPeerError extends Error {
  override readonly name = 'MissingPeerError';
}

/** What `load` imports. @throws MissingPeerError that says what to install */
export async function loadPeer<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    const { code, message } = error as Error & { code?: unknown };
    const packages = temporalPackages();
    const missing = Object.keys(packages).find((name) => message.includes(name));
    if (code !== 'ERR_MODULE_NOT_FOUND' || missing === undefined) throw error;
    const wanted = Object.entries(packages).map(([name, range]) => `${name}@${range}`);
    throw new MissingPeerError(
      `The Temporal engine needs the package ${missing}, which is not installed. Run: npm install ${wanted.join(' ')}`,
      { cause: error },
    );
  }
}

/** With the range of versions that this one works with. */
function temporalPackages(): Record<string, string> {
  const manifest = new URL('../../../package.json', import.meta.url);
  const { peerDependencies } = JSON.parse(readFileSync(manifest, 'utf8')) as {
    peerDependencies: Record<string, string>;
  };
  return Object.fromEntries(
    Object.entries(peerDependencies).filter(([name]) => name.startsWith('@temporalio/')),
  );
}
