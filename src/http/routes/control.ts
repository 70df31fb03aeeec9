/**
 * Ending runs and going back in them: stop, terminate, reset.
 *
 * Each exists for a pinned run, and in a deprecated form for whichever run is the latest; those say in headers what
 * replaces them.
 */
import type { FastifyInstance } from 'fastify';
import type { z } from 'zod';
import { isWorkflowId } from '../../core/names.js';
import type { RunRef, RunSelector } from '../../engine.js';
import { RunRefAnswer, TerminatedAnswer } from '../answers.js';
import type { RouteContext } from '../context.js';
import { markDeprecated } from '../deprecation.js';
import { type Call, type Operation, route } from '../operation.js';
import { ResetBody, TerminateBody } from '../schemas.js';
import { SCOPES, type Scope, selectorOf } from '../scopes.js';

export function controlRoutes(app: FastifyInstance, { engine }: RouteContext): void {
  for (const scope of SCOPES) {
    controlRoute(
      app,
      scope,
      {
        method: 'PATCH',
        action: 'stop',
        summary: `Stops ${scope.whose}; its cleanup runs`,
        answers: { 200: { description: 'The run was asked to stop.', schema: RunRefAnswer } },
        errors: ['WorkflowNotFoundError', 'WorkflowAlreadyClosedError'],
      },
      (selector) => engine.cancel(selector),
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
        summary: `Resets ${scope.whose} to the point after a completed step`,
        description: 'A new run replays up to that point and goes on from there; an open run is terminated.',
        body: ResetBody,
        answers: { 200: { description: 'The new run.', schema: RunRefAnswer } },
        errors: ['WorkflowNotFoundError', 'StepNotFoundError', 'StepNotCompletedError'],
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
    const successor = (id: string, runId: string) =>
      `/workflow/${encodeURIComponent(id)}/runs/${runId}/${action}`;
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

function pointOf({ stepName, occurrence, reason }: z.output<typeof ResetBody>) {
  return {
    stepName,
    ...(typeof occurrence === 'number' && { occurrence }),
    ...(typeof reason === 'string' && { reason }),
  };
}
