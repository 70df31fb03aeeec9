// Peers bring their own packages: each has a package.json with exact versions and a lock file, and is installed on first
// use, into its own folder.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Unavailable } from './unavailable.mjs';

export const peerFolder = (name) => fileURLToPath(new URL(`../peers/${name}/`, import.meta.url));

function installedVersion(folder, name) {
  try {
    return JSON.parse(readFileSync(join(folder, 'node_modules', name, 'package.json'), 'utf8')).version;
  } catch {
    return undefined;
  }
}

function dependenciesOf(peer) {
  return JSON.parse(readFileSync(join(peerFolder(peer), 'package.json'), 'utf8')).dependencies;
}

/** As results tell it. */
export const versionsOf = (peer) =>
  Object.entries(dependenciesOf(peer)).map(([name, version]) => `${name} ${version}`);

export function installPeer(peer, size) {
  const folder = peerFolder(peer);
  const isThere = Object.entries(dependenciesOf(peer)).every(
    ([name, version]) => installedVersion(folder, name) === version,
  );
  if (isThere) return;
  console.log(`Installing the packages of ${peer} into bench/peers/${peer} (once, about ${size}) …`);
  const npm = spawnSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: folder, stdio: 'inherit' });
  if (npm.status !== 0) throw new Unavailable(`npm ci failed in bench/peers/${peer}; its output is above`);
}
