/**
 * Which file is being loaded at this moment: the one whose top level runs. A function of another file or package may have
 * been called on the way, such as one that makes steps of a common kind.
 */
import { fileURLToPath } from 'node:url';

/** Of this package, whose frames are on every stack. */
const OWN = /^(src|dist)\//;
const ROOT = new URL('../../../', import.meta.url).href;

/** Its URL; undefined when no file is being loaded. */
export function fileBeingLoaded(): string | undefined {
  const { prepareStackTrace, stackTraceLimit } = Error;
  try {
    Error.stackTraceLimit = Number.POSITIVE_INFINITY;
    Error.prepareStackTrace = (_error, sites) => sites;
    const sites = new Error().stack as unknown as NodeJS.CallSite[];
    let outermost: string | undefined;
    for (const site of sites) {
      // Who waits for the file to be loaded is not being loaded.
      if ((site as { isAsync?(): boolean }).isAsync?.()) break;
      const file = site.getFileName();
      if (file?.startsWith('file:') && !isOwn(file)) outermost = file;
    }
    return outermost;
  } finally {
    Error.prepareStackTrace = prepareStackTrace;
    Error.stackTraceLimit = stackTraceLimit;
  }
}

const isOwn = (url: string): boolean => url.startsWith(ROOT) && OWN.test(url.slice(ROOT.length));

const PACKAGE = /^(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//;

/** The folder of the installed package that `path` is part of, if it is part of one. */
export const packageOf = (path: string): string | undefined =>
  PACKAGE.exec(path.startsWith('file:') ? fileURLToPath(path) : path)?.[1];
