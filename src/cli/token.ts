/**
 * The token, from wherever it was given. Steps run as the same user as the server and can read what the system shows
 * of its process: the environment that it was started with, and its command line. A file is in neither.
 */
import { readFileSync, statSync } from 'node:fs';
import type { Log } from '../core/log.js';
import { StartError } from './start-failure.js';

export interface TokenSettings {
  token?: string;
  tokenFile?: string;
}

/** The settings with the token of the file, if there is one. @throws StartError */
export function withToken<S extends TokenSettings>(settings: S): S {
  const { token, tokenFile } = settings;
  if (tokenFile === undefined) return settings;
  const read = readToken(tokenFile);
  if (token !== undefined && token !== read) {
    throw new StartError(
      'API_AUTH_TOKEN and API_AUTH_TOKEN_FILE (--token, --token-file) are both given and differ: give one of them',
    );
  }
  return { ...settings, token: read };
}

export function readToken(file: string): string {
  let text: string;
  try {
    text = readFileSync(file, 'utf8').trim();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new StartError(`the file of the token ${file} cannot be read (${code})`);
  }
  if (text === '') throw new StartError(`the file ${file} has no token in it`);
  if (/[\r\n]/.test(text))
    throw new StartError(`the file ${file} must have the token on one line, and nothing else`);
  return text;
}

/** Shorter ones can be guessed, and are to be noticed before they are. */
export const SHORT_TOKEN_LENGTH = 32;

const OTHERS_READ = 0o004;

/** Whether everybody on this machine can read it. */
export function isOpenFile(tokenFile: string | undefined): boolean {
  if (tokenFile === undefined || process.platform === 'win32') return false;
  const { mode } = statSync(tokenFile, { throwIfNoEntry: false }) ?? { mode: 0 };
  return (mode & OTHERS_READ) !== 0;
}

export function warnOfOpenFile({ tokenFile }: TokenSettings, log: Log): void {
  if (!isOpenFile(tokenFile)) return;
  log.warn({ tokenFile }, 'every user of this machine can read the file of the token: chmod 600');
}

/** Takes the command line, with the token in it, out of what `ps` and /proc show. */
export function hideCommandLine(): void {
  if (process.argv.some((argument) => argument === '--token' || argument.startsWith('--token='))) {
    process.title = 'perdure';
  }
}
