/** What a question for the reasons of a run is answered with. */
import { z } from 'zod';
import { IsoTime, PausedBy, SerializedWorkflowError, Uuid } from './answers.js';
import { EndStatus, Status } from './schemas.js';

const common = {
  message: z.string().meta({ description: 'One sentence for a person.' }),
  action: z.string().nullable().meta({
    description: 'What to do about it, with the command or call; null where there is nothing to do.',
  }),
};

const step = { stepName: z.string(), activityId: z.string() };

const reason = <const C extends string, S extends z.ZodRawShape>(code: C, fields: S) =>
  z.object({ code: z.literal(code), ...common, ...fields });

const WhyReason = z
  .discriminatedUnion('code', [
    reason('closed', {
      status: EndStatus,
      error: SerializedWorkflowError.nullable(),
      newRunId: Uuid.optional().meta({ description: 'The run that goes on in its place.' }),
    }),
    reason('turnQueued', { since: IsoTime }),
    reason('turnRunning', { since: IsoTime }),
    reason('heldBack', {
      reason: z.string(),
      since: IsoTime,
      attempts: z.int(),
      retryAt: IsoTime.nullable(),
    }),
    reason('noWorker', {
      catalog: z.string(),
      workflowType: z.string(),
      stepName: z
        .string()
        .optional()
        .meta({ description: 'Where workers have the workflow and none of them the step.' }),
    }),
    reason('stepQueued', {
      ...step,
      since: IsoTime,
      queuedBehind: z
        .int()
        .optional()
        .meta({ description: 'How many steps are given to workers before it, where that is known.' }),
    }),
    reason('stepRunning', {
      ...step,
      attempt: z.int(),
      startedAt: IsoTime,
      timeoutAt: IsoTime.nullable(),
      lastHeartbeatAt: IsoTime.nullable(),
      worker: z.string().nullable(),
    }),
    reason('stepBackingOff', {
      ...step,
      attempt: z.int().meta({ description: 'The next one.' }),
      maximumAttempts: z.int().meta({ description: '0 for no limit.' }),
      nextAttemptAt: IsoTime,
      lastError: z.object({ name: z.string(), message: z.string() }),
    }),
    reason('timer', {
      firesAt: IsoTime,
      signals: z.array(z.string()).optional().meta({
        description: 'The handlers it has, where the timer may be the limit of a wait for a message.',
      }),
      updates: z.array(z.string()).optional(),
    }),
    reason('child', {
      workflowId: z.string(),
      runId: z.string().meta({ description: 'Empty as long as it has not begun.' }),
      workflowType: z.string(),
      status: Status,
      stuckAt: z
        .object({ workflowId: z.string(), runId: Uuid, workflowType: z.string(), summary: z.string() })
        .optional()
        .meta({
          description:
            'The run that does not go on unless somebody acts: the child itself, or one further down.',
        }),
    }),
    reason('message', { signals: z.array(z.string()), updates: z.array(z.string()) }),
    reason('paused', { reason: z.string(), since: IsoTime, by: PausedBy }),
  ])
  .meta({ id: 'WhyReason' });

export const WhyAnswer = z
  .object({
    workflowId: z.string(),
    runId: Uuid,
    status: Status,
    summary: z.string().meta({ description: 'One sentence for a person.' }),
    isStuck: z.boolean().meta({ description: 'Nothing will happen unless somebody acts.' }),
    since: IsoTime.nullable(),
    reasons: z.array(WhyReason).min(1),
    asOf: IsoTime,
  })
  .meta({ id: 'Why' });
