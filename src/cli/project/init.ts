/**
 * `perdure init`: a project that runs. Its files are those of `templates/project`; the manifest is written here, since it names
 * the versions that this package is tested with.
 */
import { cpSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { basename, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeFolder } from '../../core/make-folder.js';
import { clearBrokenOff } from '../broken-off.js';
import { CommandError, EXIT } from '../calls/failure.js';
import { say } from '../calls/screen.js';
import { lastWord } from '../shell-word.js';
import { statOf } from '../stat-of.js';
import { trialFolder } from '../trial-folder.js';
import { packageName } from './package-name.js';

const TEMPLATE = fileURLToPath(new URL('../../../templates/project', import.meta.url));
const OWN_MANIFEST = new URL('../../../package.json', import.meta.url);

/** Beside perdure itself, in the versions that it is tested with. */
const DEV_DEPENDENCIES = ['@types/node', 'typescript', 'vitest'];

/** What the files are made in. */
const TRIAL = '.perdure-init-';

/** A repository that has just been made is as good as empty. */
const NO_FILES = new Set(['.git']);

/** @throws CommandError */
export function init(directory = '.'): void {
  if (directory === '') throw new CommandError(EXIT.wrongUse, 'the name of the folder is empty: give one');
  const folder = resolve(directory);
  const manifest = manifestOf(basename(folder));
  try {
    clearBrokenOff(join(folder, TRIAL));
    requireEmpty(directory, folder);
    makeFolder(folder);
    make(directory, folder, manifest);
  } catch (error) {
    if (error instanceof CommandError) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    throw new CommandError(
      EXIT.wrongUse,
      `${directory} cannot be written (${code ?? message}): give another folder`,
    );
  }
  tellWhatIsNext(folder);
}

/** All of it or nothing: a folder with half of a project would be refused the next time. */
function make(directory: string, folder: string, manifest: { name: string }): void {
  const trial = trialFolder(join(folder, TRIAL));
  try {
    cpSync(TEMPLATE, trial.path, { recursive: true });
    // npm leaves files of the other name out of packages.
    renameSync(join(trial.path, 'gitignore'), join(trial.path, '.gitignore'));
    const readme = join(trial.path, 'README.md');
    writeFileSync(readme, readFileSync(readme, 'utf8').replace('{{name}}', manifest.name));
    writeFileSync(join(trial.path, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
    requireEmpty(directory, folder, basename(trial.path));
    for (const name of readdirSync(trial.path)) renameSync(join(trial.path, name), join(folder, name));
  } finally {
    trial.remove();
  }
}

function requireEmpty(directory: string, folder: string, ofOurs?: string): void {
  const found = statOf(folder);
  if (!found) return;
  if (!found.isDirectory())
    throw new CommandError(EXIT.wrongUse, `${directory} is a file: give the name of a new folder`);
  const files = readdirSync(folder).filter((name) => !NO_FILES.has(name) && name !== ofOurs);
  if (files.length === 0) return;
  const some =
    files.length > 3 ? `${files.slice(0, 3).join(', ')} and ${files.length - 3} more` : files.join(', ');
  throw new CommandError(
    EXIT.wrongUse,
    `${directory === '.' ? 'this folder' : directory} has files (${some}), and nothing is overwritten: give a new folder, such as \`perdure init my-workflows\``,
  );
}

function manifestOf(folderName: string) {
  const own = JSON.parse(readFileSync(OWN_MANIFEST, 'utf8')) as {
    name: string;
    version: string;
    engines: { node: string };
    devDependencies: Record<string, string>;
    allowScripts: Record<string, boolean>;
  };
  return {
    name: packageName(folderName, [own.name, ...DEV_DEPENDENCIES]),
    version: '0.1.0',
    private: true,
    type: 'module',
    engines: own.engines,
    scripts: {
      dev: 'perdure dev',
      start: 'perdure serve --workflows workflows',
      test: 'vitest run',
      types: 'tsc',
    },
    dependencies: { [own.name]: own.version },
    devDependencies: Object.fromEntries(DEV_DEPENDENCIES.map((name) => [name, own.devDependencies[name]!])),
    // Those of its packages that fetch or build something for the platform when they are installed; npm asks about others.
    allowScripts: Object.fromEntries(Object.entries(own.allowScripts).filter(([, isAllowed]) => isAllowed)),
  };
}

function tellWhatIsNext(folder: string): void {
  const from = relative('.', folder);
  const lines = [
    `made ${from === '' ? 'a project here' : from}: two workflows, their steps, and tests. Next:`,
    '',
    ...(from === '' ? [] : [`  cd ${lastWord(from)}`]),
    '  npm install',
    '  npm test',
    '  npm run dev',
    '',
    'and in another terminal: npx perdure run welcome \'{"name": "Ada"}\'',
  ];
  say(lines.join('\n'));
}
