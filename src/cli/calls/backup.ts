/** `perdure backup FILE`, from a server that runs or a data folder that none has, and `perdure restore FILE`. */
import { existsSync, lstatSync, rmSync } from 'node:fs';
import { type FileHandle, link, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Command } from 'commander';
import { UnexpectedAnswerError } from '../../client/index.js';
import { clearBrokenOff, ofThisProcess } from '../broken-off.js';
import { canDraw } from '../colours.js';
import { lastWord, shellWord } from '../shell-word.js';
import { connect } from './connection.js';
import { CommandError, EXIT } from './failure.js';
import { interruptible } from './interruption.js';
import { say } from './screen.js';

const LINE_MS = 200;

export async function backup(command: Command, file: string, data: string | undefined): Promise<void> {
  refuseToOverwrite(file);
  // Under its name only when it is complete, and until then under one that nobody else has: it is removed at the end.
  const prefix = `${file}.part-`;
  clearBrokenOff(prefix);
  const part = ofThisProcess(prefix);
  try {
    await interruptible('; there is no backup', (signal) =>
      data === undefined ? fromServer(command, part, signal) : fromFolder(data, part, signal),
    );
    await name(part, file);
  } catch (error) {
    throw isFull(error) ? noSpaceFor(file, error) : forPeople(error);
  } finally {
    await rm(part, { force: true });
  }
  say(`${file} is complete; \`perdure restore --data DIR ${lastWord(file)}\` puts it into a new folder`);
}

/** Also a link that leads nowhere, such as to a disk that is not mounted, is in the way in the end. */
function refuseToOverwrite(file: string): void {
  if (isThere(file))
    throw new CommandError(
      EXIT.wrongUse,
      `${file} is there already, and nothing is overwritten: give another name`,
    );
}

function isThere(file: string): boolean {
  try {
    return lstatSync(file, { throwIfNoEntry: false }) !== undefined;
  } catch {
    // Whoever writes it is told better what is in the way.
    return false;
  }
}

/** Of the disk, of this user, or of a file of this file system. */
const FULL = ['ENOSPC', 'EDQUOT', 'EFBIG'];

const isFull = (error: unknown): error is NodeJS.ErrnoException =>
  FULL.includes((error as NodeJS.ErrnoException).code ?? '');

const noSpaceFor = (file: string, { code }: NodeJS.ErrnoException): CommandError =>
  new CommandError(
    EXIT.wrongUse,
    `${file} cannot be written (${code}), and there is no backup: make space, or give a file elsewhere`,
  );

/** File systems without links, as on many sticks. */
const NO_LINKS = ['EPERM', 'ENOTSUP', 'ENOSYS'];

/** Also what came there meanwhile is not overwritten. */
async function name(part: string, file: string): Promise<void> {
  try {
    await link(part, file);
  } catch (error) {
    refuseToOverwrite(file);
    if (!NO_LINKS.includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
    await rename(part, file);
  }
  const folder = await open(dirname(file));
  await folder.sync();
  await folder.close();
}

async function fromServer(command: Command, part: string, signal: AbortSignal): Promise<void> {
  const { quick, server } = await connect(command);
  const { bytes, read } = await quick.backup({ signal });
  const out = await create(part, 'wx+');
  const progress = new ProgressLine(bytes, megabytes);
  try {
    let done = 0;
    for await (const piece of read()) {
      await out.writeFile(piece);
      done += piece.length;
      progress.show(done);
    }
    const all = await lengthOf(out);
    if (all === undefined)
      throw new UnexpectedAnswerError(`${server} answered with something that is no database`, {});
    if (done !== (bytes ?? all))
      throw new CommandError(
        EXIT.failed,
        `the copy broke off after ${done} of ${bytes ?? all} bytes: try again`,
      );
    await out.sync();
  } finally {
    progress.clear();
    await out.close();
  }
}

async function fromFolder(data: string, part: string, signal: AbortSignal): Promise<void> {
  const { copyDataFolder } = await import('../../embedded/store/folder/offline-copy.js');
  await (await create(part)).close();
  rmSync(part);
  let progress: ProgressLine | undefined;
  try {
    await copyDataFolder(data, part, ({ done, total }) => {
      signal.throwIfAborted();
      progress ??= new ProgressLine(total, (pages) => `${pages} pages`);
      progress.show(done);
    });
  } finally {
    progress?.clear();
  }
}

/** By what the database says of itself, since a proxy may leave out what the server says. Undefined for what is none. */
async function lengthOf(file: FileHandle): Promise<number | undefined> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(100), 0, 100, 0);
  if (bytesRead < 100 || buffer.toString('latin1', 0, 16) !== 'SQLite format 3\0') return undefined;
  const pageSize = buffer.readUInt16BE(16);
  // 65,536 does not fit there, and is written as 1.
  return (pageSize === 1 ? 65_536 : pageSize) * buffer.readUInt32BE(28);
}

async function create(path: string, flags = 'wx') {
  try {
    return await open(path, flags, 0o600);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new CommandError(EXIT.wrongUse, `nothing can be written into ${dirname(path)} (${code})`);
  }
}

export async function restore(file: string, data: string): Promise<void> {
  if (!existsSync(file)) throw new CommandError(EXIT.wrongUse, `there is no file ${file}`);
  const { restoreDataFolder } = await import('../../embedded/store/folder/offline-copy.js');
  let report: ReturnType<typeof restoreDataFolder>;
  try {
    report = restoreDataFolder(file, data);
  } catch (error) {
    throw forPeople(error);
  }
  if (report.problems.length > 0) {
    const lines = report.problems.slice(0, 10).map(({ problem }) => `  ${problem}`);
    throw new CommandError(
      EXIT.failed,
      [`${file} is damaged, and nothing was restored:`, ...lines].join('\n'),
    );
  }
  say(`${report.runs} runs are in ${data}; \`perdure serve --data ${shellWord(data)}\` goes on with them`);
}

/** What concerns the folder is told as it is; by name, so that the engine is not loaded for it. */
function forPeople(error: unknown): unknown {
  const { name, message } = error as Error;
  return name === 'DataFolderError' ? new CommandError(EXIT.wrongUse, message) : error;
}

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;

/** Drawn anew in a terminal; elsewhere nobody waits for it. */
class ProgressLine {
  #shownAt = 0;

  constructor(
    private readonly total: number | undefined,
    private readonly text: (amount: number) => string,
  ) {}

  show(done: number): void {
    if (!canDraw(process.stderr) || Date.now() - this.#shownAt < LINE_MS) return;
    this.#shownAt = Date.now();
    const of = this.total === undefined ? '' : ` of ${this.text(this.total)}`;
    process.stderr.write(`\r\u001b[K${this.text(done)}${of}`);
  }

  clear(): void {
    if (canDraw(process.stderr)) process.stderr.write('\r\u001b[K');
  }
}
