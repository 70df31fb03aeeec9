/**
 * The folder of trace files.
 *
 * 1. A name is made of a run id and nothing else, so no caller chooses a path.
 * 2. A file is whole or not there: written beside its place, synced, renamed, and the folder synced.
 * 3. Steps run on this machine and may plant what they like: only a regular file with one name counts, and no link is
 *    followed, neither for reading nor for writing.
 */
import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { chmod, type FileHandle, lstat, open, opendir, rename, statfs, unlink } from 'node:fs/promises';
import { join, resolve, sep } from 'node:path';
import { PerdureError } from '../core/errors.js';
import { invariant } from '../core/invariant.js';
import { makeFolder } from '../core/make-folder.js';
import { isRunId } from '../core/values/names.js';

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;

const FILE = /^(.{36})\.json$/;
/** What a write that a crash cut short leaves. */
const UNFINISHED = /^\..*\.tmp$/;

/** The folder cannot be used; the message is for the person who starts the program. */
export class TraceFolderError extends Error {
  override readonly name = 'TraceFolderError';
}

export class TraceFiles {
  /** Tells unfinished files of this process from those that a crash has left. */
  readonly #own = randomBytes(6).toString('hex');
  #writes = 0;

  private constructor(
    readonly folder: string,
    private readonly lowWaterBytes: number,
  ) {}

  static async open(dataDir: string, lowWaterBytes = 0): Promise<TraceFiles> {
    const folder = join(resolve(dataDir), 'traces');
    try {
      makeFolder(folder, 0o700);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== 'EEXIST')
        throw new TraceFolderError(
          `${folder} cannot be made (${code}): let this user write there, or name another folder with --data`,
        );
    }
    if (!(await lstat(folder)).isDirectory()) {
      throw new TraceFolderError(`${folder} is not a folder of its own: remove it, and start again`);
    }
    await chmod(folder, 0o700).catch(({ code }: NodeJS.ErrnoException) => {
      throw new TraceFolderError(
        `${folder} belongs to another user (${code}): give it to the one who runs the program, or remove it; traces are made again when they are asked for`,
      );
    });
    return new TraceFiles(folder, lowWaterBytes);
  }

  /** What the paths of all files begin with. */
  get placeOfAll(): string {
    return this.folder + sep;
  }

  pathOf(runId: string): string {
    invariant(isRunId(runId), `"${runId}" is not the id of a run`);
    return `${this.placeOfAll}${runId}.json`;
  }

  async hasSpace(): Promise<boolean> {
    if (this.lowWaterBytes === 0) return true;
    // A folder that cannot be asked says so when it is written to.
    const disk = await statfs(this.folder).catch(() => undefined);
    return !disk || disk.bavail * disk.bsize >= this.lowWaterBytes;
  }

  /**
   * Writes the file as a whole, in place of whatever has its name. One write of a run at a time.
   * @throws StorageFullError
   */
  async write(runId: string, text: Iterable<string>): Promise<void> {
    if (!(await this.hasSpace())) throw storageFull(runId);
    try {
      await this.#write(runId, text);
    } catch (error) {
      throw isOneOf(error, 'ENOSPC', 'EDQUOT') ? storageFull(runId) : error;
    }
  }

  async #write(runId: string, text: Iterable<string>): Promise<void> {
    const path = this.pathOf(runId);
    // Of this write alone: what another one may have left in its place must not stand in the way.
    const unfinished = join(this.folder, `.${runId}.${this.#own}.${++this.#writes}.tmp`);
    const file = await this.#create(unfinished);
    try {
      try {
        for (const chunk of text) await file.writeFile(chunk);
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(unfinished, path);
    } catch (error) {
      await unlink(unfinished).catch(() => {});
      throw error;
    }
    await this.#sync();
  }

  async #create(path: string): Promise<FileHandle> {
    const create = () => open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
    try {
      return await create();
    } catch (error) {
      // Whoever removes all traces may have taken the folder as well.
      if (!isOneOf(error, 'ENOENT')) throw error;
      makeFolder(this.folder, 0o700);
      return create();
    }
  }

  /** Undefined unless it is a file of ours. The caller closes it. */
  async read(runId: string): Promise<{ file: FileHandle; size: number } | undefined> {
    let file: FileHandle;
    try {
      // A pipe in its place would hold up an open that waits.
      file = await open(this.pathOf(runId), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    } catch (error) {
      if (isOneOf(error, 'ENOENT', 'ELOOP', 'EMLINK', 'ENXIO', 'EACCES')) return undefined;
      throw error;
    }
    try {
      const stats = await file.stat();
      if (stats.isFile() && stats.nlink === 1) return { file, size: stats.size };
      await file.close();
      return undefined;
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  async has(runId: string): Promise<boolean> {
    const found = await this.read(runId);
    await found?.file.close();
    return found !== undefined;
  }

  async remove(runId: string): Promise<void> {
    try {
      await unlink(this.pathOf(runId));
    } catch (error) {
      if (!isOneOf(error, 'ENOENT')) throw error;
    }
  }

  /** The runs that have a file; removes what writes of an earlier process that were cut short have left. */
  async *runs(): AsyncGenerator<string> {
    for await (const { name } of await opendir(this.folder)) {
      // What cannot be removed, such as a folder of that name, must not keep the others.
      if (UNFINISHED.test(name) && !name.includes(this.#own))
        await unlink(join(this.folder, name)).catch(() => {});
      const runId = FILE.exec(name)?.[1];
      if (isRunId(runId)) yield runId;
    }
  }

  /** Removes what was last written before that instant, whole or unfinished. Others may be writing here. */
  async removeWrittenBefore(at: number): Promise<void> {
    for await (const { name } of await opendir(this.folder)) {
      if (!UNFINISHED.test(name) && !isRunId(FILE.exec(name)?.[1])) continue;
      const path = join(this.folder, name);
      const stats = await lstat(path).catch(() => undefined);
      if (stats && stats.mtimeMs < at) await unlink(path).catch(() => {});
    }
  }

  async #sync(): Promise<void> {
    const folder = await open(this.folder, O_RDONLY | O_DIRECTORY);
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  }
}

const storageFull = (runId: string): PerdureError =>
  new PerdureError(
    'StorageFullError',
    'the disk of the server is full or nearly full: traces are made again when there is space',
    { runId },
  );

function isOneOf(error: unknown, ...codes: string[]): boolean {
  return codes.includes((error as NodeJS.ErrnoException).code ?? '');
}
