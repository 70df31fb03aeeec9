/**
 * Ending runs and going back in them: stop, terminate, reset.
 *
 * Each exists for a pinned run, and in a deprecated form for whichever run is the latest; those say in headers what
 * replaces them.
 */
import type { FastifyInstance } from 'fastify';
import type { z } from 'zod';
import { segmentOfId } from '../../core/values/id-segment.js';
import { isWorkflowId } from '../../core/values/names.js';
import type { ResetPoint, RunRef, RunSelector } from '../../engine.js';
import type { RouteContext } from '../context.js';
import { type Call, type Operation, route } from '../operation.js';
import { SCOPES, type Scope, selectorOf } from '../scopes.js';
import { RunRefAnswer, StoppedAnswer, TerminatedAnswer } from '../wire/answers.js';
import { markDeprecated } from '../wire/deprecation.js';
import { NoBody, ResetBody, TerminateBody } from '../wire/schemas.js';

export function controlRoutes(app: FastifyInstance, { engine, arrivals }: RouteContext): void {
  for (const scope of SCOPES) {
    controlRoute(
      app,
      scope,
      {
        method: 'PATCH',
        action: 'stop',
        summary: `Stops ${scope.whose}; its cleanup runs`,
        description: 'A repeat changes nothing, nor does it if the run is closed; `status` says what it is.',
        body: NoBody,
        answers: { 200: { description: 'The run was asked to stop, or is closed.', schema: StoppedAnswer } },
        errors: ['WorkflowNotFoundError'],
      },
      (selector) =>
        arrivals.inOrder(
          selector.workflowId,
          async () => undefined,
          () => engine.cancel(selector),
        ),
    );

    controlRoute(
      app,
      scope,
      {
        method: 'POST',
        action: 'terminate',
        summary: `Terminates ${scope.whose} at once, without cleanup`,
        body: TerminateBody,
        answers: { 200: { description: 'The run is closed.', schema: TerminatedAnswer } },
        errors: ['WorkflowNotFoundError', 'WorkflowAlreadyClosedError'],
      },
      async (selector, { body }) => ({
        terminated: true,
        ...(await engine.terminate(selector, body?.reason ?? 'The workflow was terminated')),
      }),
    );

    controlRoute(
      app,
      scope,
      {
        method: 'POST',
        action: 'reset',
        summary: `Resets ${scope.whose} to the point after a completed step, or to its start`,
        description: 'A new run replays up to that point and goes on from there; an open run is terminated.',
        body: ResetBody,
        answers: { 200: { description: 'The new run.', schema: RunRefAnswer } },
        errors: ['WorkflowNotFoundError', 'StepNotFoundError', 'StepNotCompletedError', 'StorageFullError'],
      },
      (selector, { body }) => engine.reset(selector, pointOf(body)),
    );
  }
}

type Control = Pick<Operation, 'method' | 'summary' | 'description' | 'body' | 'answers' | 'errors'> & {
  action: string;
};

/** Serves one action on the runs of the scope. */
function controlRoute<const C extends Control>(
  app: FastifyInstance,
  scope: Scope,
  { action, ...control }: C,
  act: (selector: RunSelector, call: Pick<Call<C & Operation>, 'body'>) => Promise<RunRef>,
): void {
  const path = `${scope.prefix}/${action}`;
  const operation = {
    ...control,
    id: `${action}${scope.isPinned ? 'Run' : 'Latest'}`,
    path,
    tag: 'control',
    params: scope.params,
    deprecated: !scope.isPinned,
  } as const satisfies Operation;
  app.register(async (scoped) => {
    const successor = (id: string, runId: string) => `/workflow/${segmentOfId(id)}/runs/${runId}/${action}`;
    if (!scope.isPinned) {
      scoped.addHook('preParsing', (request, reply, _payload, done) => {
        const { id } = request.params as { id: string };
        // Which run it would be is known only once it was found, and for an id that cannot be there is none.
        markDeprecated(reply, isWorkflowId(id) ? successor(id, '%7Brid%7D') : undefined);
        done();
      });
    }
    route(scoped, operation, async ({ params, body, reply }) => {
      const answer = await act(selectorOf(params), { body } as never);
      if (!scope.isPinned) markDeprecated(reply, successor(answer.workflowId, answer.runId));
      return reply.send(answer);
    });
  });
}

function pointOf({ stepName, occurrence, reason }: z.output<typeof ResetBody>): ResetPoint {
  return {
    // The schema has seen to it that it is one of the two.
    ...(typeof stepName === 'string' ? { stepName } : { toStart: true }),
    ...(typeof occurrence === 'number' && { occurrence }),
    ...(typeof reason === 'string' && { reason }),
  } as ResetPoint;
}
