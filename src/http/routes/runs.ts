/** What became of a run: its status and its result, of the latest run or of a pinned one. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { PerdureError } from '../../core/errors.js';
import type { RunDescription, RunSelector } from '../../engine.js';
import { JSON_TYPE, type RouteContext } from '../context.js';
import { resultText } from '../result.js';
import { parse, ResultQuery, RunPath } from '../schemas.js';

export function runRoutes(app: FastifyInstance, { engine, waits }: RouteContext): void {
  const status = async (request: FastifyRequest, reply: FastifyReply) =>
    reply.send(statusRecord(await engine.describe(selected(request))));

  const result = async (request: FastifyRequest, reply: FastifyReply) => {
    const selector = selected(request);
    const { wait = 0 } = parse(ResultQuery, request.query);
    const followChain = selector.runId === undefined;
    const outcome =
      wait === 0 ? await engine.outcome(selector, { followChain }) : await waited(selector, wait, reply);
    if (outcome === undefined) {
      throw new PerdureError('WorkflowNotCompletedError', 'The workflow is still running', { ...selector });
    }
    return reply.header('content-type', JSON_TYPE).send(resultText(outcome));
  };

  const waited = async (selector: RunSelector, wait: number, reply: FastifyReply) => {
    const followChain = selector.runId === undefined;
    waits.enter();
    try {
      return await waits.hold(reply.raw, wait, (waitMs, abort) =>
        engine.outcome(selector, { waitMs, followChain, abort }),
      );
    } finally {
      waits.leave();
    }
  };

  for (const run of ['/workflow/:id', '/workflow/:id/runs/:rid']) {
    app.get(`${run}/status`, status);
    app.get(`${run}/result`, result);
  }
}

function selected(request: FastifyRequest): RunSelector {
  const { id, rid } = parse(RunPath, request.params);
  return rid === undefined ? { workflowId: id } : { workflowId: id, runId: rid };
}

function statusRecord(run: RunDescription): object {
  const {
    workflowId,
    runId,
    workflowType,
    catalog,
    status,
    startedAt,
    completedAt,
    historyLength,
    heldBack,
  } = run;
  return {
    workflowId,
    runId,
    workflowType,
    catalog,
    status,
    startedAt,
    completedAt,
    historyLength,
    ...(heldBack && {
      heldBack: { reason: heldBack.reason, since: new Date(heldBack.since).toISOString() },
    }),
  };
}
