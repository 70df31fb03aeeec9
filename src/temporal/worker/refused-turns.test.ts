import proto from '@temporalio/proto';
import { expect, test } from 'vitest';
import { silentLog } from '../../core/log.js';
import { refuseNone } from './refused-turns.js';

const { WorkflowActivationCompletion } = (proto as unknown as typeof import('@temporalio/proto')).coresdk
  .workflow_completion;
const RUN_ID = '01a1dff5-40bb-73dd-b8d5-64ce35cb2660';

/** Half a surrogate pair, as protobuf's library writes it. */
const HALF = Buffer.from([0xed, 0xa0, 0xbd]);

/** A core that refuses what the real one does, and tells what it has taken. */
function strictCore() {
  const taken: ReturnType<typeof WorkflowActivationCompletion.decodeDelimited>[] = [];
  const core = {
    async completeWorkflowActivation(completion: Buffer): Promise<void> {
      if (completion.includes(HALF)) throw new Error('Cannot decode Completion from buffer');
      taken.push(WorkflowActivationCompletion.decodeDelimited(completion));
    },
  };
  refuseNone(core, silentLog);
  return { core, taken };
}

const answer = (message: string, commands = 1): Buffer =>
  Buffer.from(
    WorkflowActivationCompletion.encodeDelimited({
      runId: RUN_ID,
      successful: {
        commands: Array.from({ length: commands }, () => ({
          failWorkflowExecution: { failure: { message } },
        })),
      },
    }).finish(),
  );

test('an answer that can be read is passed on', async () => {
  const { core, taken } = strictCore();
  await core.completeWorkflowActivation(answer('fine'));
  expect(taken).toMatchObject([{ runId: RUN_ID, successful: { commands: [expect.anything()] } }]);
});

test.each([1, 300])('one that cannot is that of a failed turn (%d commands)', async (commands) => {
  const { core, taken } = strictCore();
  await core.completeWorkflowActivation(answer('half \ud83d', commands));
  expect(taken).toMatchObject([
    { runId: RUN_ID, failed: { failure: { message: expect.stringContaining('cannot be sent') } } },
  ]);
});

test('an error that has nothing to do with what was answered is not hidden', async () => {
  const core = {
    completeWorkflowActivation: (_: Buffer) => Promise.reject(new Error('core is gone')),
  };
  refuseNone(core, silentLog);
  await expect(core.completeWorkflowActivation(answer('fine'))).rejects.toThrow('core is gone');
});
