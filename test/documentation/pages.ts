/** The pages that users read, and the code in them as files of a project. */
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

export interface Page {
  name: string;
  text: string;
}

export const PAGES: Page[] = [
  'README.md',
  ...readdirSync(join(ROOT, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
].map((name) => ({ name, text: readFileSync(join(ROOT, name), 'utf8') }));

export const page = (name: string): string => PAGES.find((each) => each.name === name)!.text;

/** The code of a page as files: a block is the file that its first line names, goes on with the block before it if it imports nothing, or is a file of its own. */
export interface CodeFile {
  page: string;
  path: string;
  code: string;
}

export const FILES: CodeFile[] = PAGES.flatMap(({ name, text }) => filesOf(name, text));

function filesOf(name: string, text: string): CodeFile[] {
  const files: CodeFile[] = [];
  for (const [index, [, code]] of [...text.matchAll(/^```ts\n(.*?)^```$/gms)].entries()) {
    const path = /^\/\/ (\S+\.ts)\n/.exec(code!)?.[1];
    const before = files.at(-1);
    if (path === undefined && before && !/^import /m.test(code!)) before.code += code!;
    else files.push({ page: name, path: path ?? `block-${index + 1}.ts`, code: code! });
  }
  return files;
}

/** A folder in which `perdure` is installed, as far as a compiler and a program can tell. */
export class Project {
  readonly folder = mkdtempSync(join(tmpdir(), 'perdure-documentation-'));

  constructor() {
    mkdirSync(join(this.folder, 'node_modules'));
    symlinkSync(ROOT, join(this.folder, 'node_modules/perdure'));
    for (const name of ['vitest', '@types', 'undici-types']) {
      symlinkSync(join(ROOT, 'node_modules', name), join(this.folder, 'node_modules', name));
    }
    this.write('package.json', JSON.stringify({ name: 'a-project', private: true, type: 'module' }));
    this.write(
      'tsconfig.json',
      JSON.stringify({
        compilerOptions: {
          ...{ target: 'ES2022', lib: ['ES2023'], module: 'NodeNext', types: ['node'], noEmit: true },
          ...{ strict: true, noUncheckedIndexedAccess: true, exactOptionalPropertyTypes: true },
          ...{ noImplicitOverride: true, noImplicitReturns: true, noFallthroughCasesInSwitch: true },
          ...{ noUnusedLocals: true, noUnusedParameters: true, isolatedModules: true },
          ...{ verbatimModuleSyntax: true, skipLibCheck: false },
        },
        include: ['**/*.ts'],
        exclude: ['node_modules'],
      }),
    );
  }

  write(path: string, text: string): void {
    const file = join(this.folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
