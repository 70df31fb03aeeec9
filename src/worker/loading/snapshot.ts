/**
 * What was read of a folder, so that it need not be read again: every process of one supervisor runs the same code,
 * whatever becomes of the files meanwhile. Plain data, since it travels from process to process. Packages that steps
 * import, and CommonJS files, are Node's to load, from where they are.
 */
import type { LibraryBundle } from './bundle.js';
import { type Bundles, ModuleGraph } from './bundler.js';
import type { HostGraph } from './host-hooks.js';
import type { Packages } from './library.js';

export interface FolderSnapshot {
  directory: string;
  /** The files of workflows, relative to the directory. */
  files: string[];
  host: HostGraph;
  bundles: Pick<Bundles, 'code' | 'sourceMaps'> & { metafile: ModuleGraph['metafile'] };
  library: LibraryBundle | undefined;
  packages: Packages;
}

export function bundlesOf({ bundles: { code, sourceMaps, metafile } }: FolderSnapshot): Bundles {
  return { code, sourceMaps, graph: new ModuleGraph(metafile), problems: [] };
}
