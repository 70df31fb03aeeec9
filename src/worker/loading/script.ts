/** Makes one script of a program of ours and of modules that exist as texts only. */
import { build, stop } from 'esbuild';

export interface ScriptOptions {
  /** The text of the entry; what it imports is looked for in `directory`. */
  entry: string;
  directory: string;
  /** Texts by the name that they are imported by; those with an inline source map keep their places in the script's. */
  modules: ReadonlyMap<string, string>;
  /** Paths by the name that they are imported by. */
  aliases: ReadonlyMap<string, string>;
  /** Stands before everything else. */
  banner: string;
}

export interface Script {
  code: string;
  /** JSON. */
  sourceMap: string;
}

const TEXT = 'text';

export async function makeScript({
  entry,
  directory,
  modules,
  aliases,
  banner,
}: ScriptOptions): Promise<Script> {
  try {
    const { outputFiles } = await build({
      stdin: { contents: entry, resolveDir: directory },
      outfile: 'script.js',
      bundle: true,
      write: false,
      format: 'iife',
      platform: 'neutral',
      mainFields: ['main', 'module'],
      conditions: ['require', 'default'],
      target: 'node20',
      supported: { 'dynamic-import': false },
      banner: { js: banner },
      sourcemap: 'external',
      sourcesContent: false,
      logLevel: 'silent',
      plugins: [
        {
          name: 'perdure',
          setup({ onResolve, onLoad }) {
            onResolve({ filter: /./ }, ({ path }) => {
              const alias = aliases.get(path);
              if (alias !== undefined) return { path: alias };
              return modules.has(path) ? { path, namespace: TEXT } : undefined;
            });
            onLoad({ filter: /./, namespace: TEXT }, ({ path }) => ({ contents: modules.get(path)! }));
          },
        },
      ],
    });
    const [sourceMap, code] = ['.map', '.js'].map(
      (end) => outputFiles.find(({ path }) => path.endsWith(end))!.text,
    );
    return { code: code!, sourceMap: sourceMap! };
  } finally {
    // Its process would stay for as long as this one.
    await stop();
  }
}
