/** One TypeScript file with the files beside it as a module that Node can load; packages are left to Node. */
import { build, stop } from 'esbuild';

export async function bundleModule(path: string): Promise<string> {
  try {
    const { outputFiles } = await build({
      ...{ entryPoints: [path], bundle: true, packages: 'external', write: false },
      ...{ format: 'esm', platform: 'node', target: 'node20', logLevel: 'silent' },
    });
    return outputFiles[0]!.text;
  } finally {
    await stop();
  }
}
