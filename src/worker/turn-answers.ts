/** What a worker answers to turns, wherever it runs: the sandbox's answers, bounded, in the words of the author's files. */

import { DEFAULT_LIMITS } from '../core/bounds/limits.js';
import { brokenTurnBytes, limitFailure } from '../core/bounds/turn-limits.js';
import { toFailure } from '../core/history/failure.js';
import type { FromWorker, QueryAnswer, TurnTask } from '../core/task.js';
import type { SourceLines } from './loading/source-lines.js';
import type { Sandbox } from './sandbox/host.js';
import { isLargerThan, PayloadTooLargeError } from './steps/payload-size.js';

export class TurnAnswers {
  constructor(
    private readonly sandbox: Sandbox,
    private readonly sourceLines: SourceLines,
    private readonly payloadBytes: number,
  ) {}

  /** A turn that fails by our own fault is answered as failed, so that its run is told rather than forgotten. */
  to(task: TurnTask): FromWorker {
    const { turnId, runId } = task;
    try {
      const answer = this.sandbox.runTurn(task);
      this.#restoreSourceLines(answer);
      if (answer.kind === 'turnCompleted') answer.answers = answer.answers.map((each) => this.#bounded(each));
      const limit = answer.kind === 'turnCompleted' && brokenTurnBytes(answer.commands, DEFAULT_LIMITS);
      // It could not be sent. The engine would fail the run for it, so the run fails here, in the same words.
      return limit ? { ...answer, commands: [{ kind: 'failRun', failure: limitFailure(limit) }] } : answer;
    } catch (error) {
      this.sandbox.forget(runId);
      const cause = 'WORKFLOW_WORKER_UNHANDLED_FAILURE';
      return { kind: 'turnFailed', turnId, runId, cause, failure: toFailure(error) };
    }
  }

  #bounded(answer: QueryAnswer): QueryAnswer {
    if (answer.kind !== 'answered' || answer.result === undefined) return answer;
    if (!isLargerThan(answer.result, this.payloadBytes)) return answer;
    const error = new PayloadTooLargeError('the answer to the query', answer.result, this.payloadBytes);
    return { kind: 'failed', queryId: answer.queryId, failure: toFailure(error) };
  }

  /** Stack traces that people will read speak of their own files. */
  #restoreSourceLines(answer: FromWorker): void {
    const { sourceLines } = this;
    if (answer.kind === 'turnFailed') sourceLines.restore(answer.failure);
    if (answer.kind !== 'turnCompleted') return;
    for (const command of answer.commands) {
      if ('failure' in command && command.failure) sourceLines.restore(command.failure);
    }
    for (const query of answer.answers) if (query.kind === 'failed') sourceLines.restore(query.failure);
  }
}
