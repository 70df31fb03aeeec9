/**
 * A turn whose answer Temporal's core cannot read ends Temporal's worker, and then the next one, which meets the same
 * turn. So such a turn is answered as one that failed: its run is held back with the reason, and all others go on.
 */
import proto from '@temporalio/proto';
import type { Worker } from '@temporalio/worker';
import type { Log } from '../../core/log.js';
import { wellFormed } from '../translate/well-formed.js';

/** A CommonJS package whose names only its default export has at run time. */
const { WorkflowActivationCompletion } = (proto as unknown as typeof import('@temporalio/proto')).coresdk
  .workflow_completion;

/** What Temporal's worker answers turns by. It has no other place where an answer can be seen. */
export interface AnswersTurns {
  completeWorkflowActivation(completion: Buffer): Promise<void>;
}

export function answerRefusedTurns(worker: Worker, log: Log): void {
  // biome-ignore lint/complexity/useLiteralKeys: Temporal has it as protected
  refuseNone(worker['nativeWorker'] as unknown as AnswersTurns, log);
}

/** Makes each answer that is refused the answer of a failed turn. */
export function refuseNone(core: AnswersTurns, log: Log): void {
  const complete = core.completeWorkflowActivation.bind(core);
  core.completeWorkflowActivation = async (completion) => {
    try {
      await complete(completion);
    } catch (error) {
      const runId = runIdOf(completion);
      if (runId === undefined) throw error;
      const why = error instanceof Error ? error.message : String(error);
      log.error(
        { runId, error: why },
        'Temporal could not read what a turn has decided; the turn has failed',
      );
      await complete(failedTurn(runId, why));
    }
  };
}

/** Of bytes that cannot be read as a whole: the length of the message, and then its first field. */
function runIdOf(completion: Buffer): string | undefined {
  let at = 0;
  while (completion[at]! & MORE) at++;
  const [field, length] = completion.subarray(at + 1, at + 3);
  return field === RUN_ID ? completion.toString('utf8', at + 3, at + 3 + length!) : undefined;
}

/** A number goes on in the next byte. */
const MORE = 0x80;
/** The tag of the first field, a text; of less than 128 bytes, as a run's id is. */
const RUN_ID = 0x0a;

function failedTurn(runId: string, why: string): Buffer {
  const failure = { source: 'perdure', message: `what the turn has decided cannot be sent: ${why}` };
  const failed = WorkflowActivationCompletion.create({ runId, failed: { failure: wellFormed(failure) } });
  return Buffer.from(WorkflowActivationCompletion.encodeDelimited(failed).finish());
}
