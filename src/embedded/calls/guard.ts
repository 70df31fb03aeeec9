/**
 * What every call from outside goes through: whether the engine runs and has space, what a caller is told of an error, and when
 * what was decided is on disk.
 */
import { PerdureError } from '../../core/errors.js';
import type { RunRef, RunSelector } from '../../engine.js';
import type { Kernel } from '../kernel.js';
import type { Damage } from '../life/damage.js';
import type { ActiveRun } from '../store/active-run.js';
import { DamagedRunError, storageFailure } from '../store/damage.js';
import type { FreeSpace } from '../store/folder/free-space.js';

export class Guard {
  #stopped: Error | undefined;
  #hasFailed = false;
  /** Refusals that rest on what is not on disk yet. */
  readonly #early = new WeakMap<Error, RunRef>();

  constructor(
    private readonly kernel: Kernel,
    private readonly space: FreeSpace,
    private readonly damage: Damage,
  ) {}

  get isStopped(): boolean {
    return this.#stopped !== undefined;
  }

  /** From now on every call is told this. */
  stop(reason: Error): void {
    this.#stopped ??= reason;
  }

  /** Nobody is to rely on this process any more, also not on what was read before. */
  failed(reason: Error): void {
    this.#hasFailed = true;
    this.stop(reason);
  }

  /**
   * A call that may change runs. Of one that turns out to be damaged the caller is told; where the disk fails otherwise, half
   * of a transition may have been made, so the engine stops.
   */
  async call<T>(action: () => T | Promise<T>): Promise<T> {
    this.requireRunning();
    try {
      return await action();
    } catch (error) {
      const explained = this.#explained(error);
      const early = error instanceof Error ? this.#early.get(error) : undefined;
      if (early) {
        this.#requireCommits();
        await this.durable(early);
      }
      throw explained;
    }
  }

  /**
   * Why a call is refused on account of a run, in memory or not. What that run has come to may not be on disk yet, and nobody
   * is told of it before: a kill, or a disk that fails, could still undo it.
   */
  refusal(run: ActiveRun | undefined, error: PerdureError): PerdureError {
    if (run && (run.unsaved.length > 0 || !run.inbox.isSaved)) {
      this.kernel.commit.include(run);
      const { workflowId, runId } = run.state;
      this.#early.set(error, { workflowId, runId });
    }
    return error;
  }

  /** A call that only reads: where the disk fails its caller is told, and nobody else. */
  async read<T>(action: () => T | Promise<T>): Promise<T> {
    this.requireRunning();
    try {
      const answer = await action();
      // What was waited for until then may be all that is known.
      if (this.#hasFailed) this.requireRunning();
      return answer;
    } catch (error) {
      if (error instanceof DamagedRunError || storageFailure(error) === 'definite') {
        throw this.#explained(error);
      }
      this.kernel.log.error({ err: error }, 'the database could not be read for a caller');
      throw new PerdureError('EngineUnavailableError', 'the storage cannot be read just now', {
        retryAfterSeconds: 1,
      });
    }
  }

  /** What a caller is told of an error; a run that turns out to be damaged is set apart by it. */
  #explained(error: unknown): unknown {
    if (error instanceof PerdureError) return error;
    const explained = this.damage.explain(error);
    // Whether it is that run which cannot be read, or all of the disk fails, shows when this is written.
    if (explained) this.kernel.commit.flush(true);
    return this.#stopped ?? explained ?? error;
  }

  requireRunning(): void {
    if (this.#stopped) throw this.#stopped;
  }

  /** @throws StorageFullError */
  requireSpace(): void {
    this.requireRunning();
    this.space.require(this.kernel.commit.isFull);
  }

  /** All that was decided so far could be committed. @throws StorageFullError, EngineUnavailableError */
  requireWriting(): void {
    if (this.kernel.commit.isFull) this.requireSpace();
    this.#requireCommits();
  }

  #requireCommits(): void {
    if (this.kernel.commit.isHeldUp) {
      throw new PerdureError('EngineUnavailableError', 'the storage takes nothing just now', {
        retryAfterSeconds: 1,
      });
    }
  }

  /** @throws WorkflowNotFoundError, WorkflowAlreadyClosedError */
  openRun(selector: RunSelector, what: string): ActiveRun {
    this.requireRunning();
    const run = this.kernel.runs.select(selector);
    if (!run.isClosed) return run;
    const { workflowId, runId, status } = run.state;
    const message = `run ${runId} is closed (${status}) and cannot take ${what}`;
    throw this.refusal(run, new PerdureError('WorkflowAlreadyClosedError', message, { workflowId, runId }));
  }

  /** Resolves when all that was decided is on disk. @throws DataCorruptionError when the run could not be saved */
  async durable<T extends RunRef | undefined>(ref: T): Promise<T> {
    try {
      await this.kernel.commit.committed();
    } catch {
      throw this.#stopped;
    }
    if (ref) this.kernel.runs.requireSound(ref.runId);
    return ref;
  }

  /** The answer or the refusal, unless the run could not be saved together with what is told. */
  async sound<T>({ state }: ActiveRun, answer: Promise<T>): Promise<T> {
    try {
      return await answer;
    } finally {
      this.kernel.runs.requireSound(state.runId);
    }
  }
}
