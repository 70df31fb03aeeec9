/**
 * Which of the calls that may pass are let in: the bounds of what all of them together may take. Who is not let in is told
 * when to come back, before anything was done for the call.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { inflow } from '../../core/bounds/inflow.js';
import type { HttpLimits } from '../../core/bounds/limits.js';
import type { PerdureError } from '../../core/errors.js';
import type { Bodies } from './bodies.js';
import type { CallQueue } from './call-queue.js';
import { Connections } from './connections.js';
import { Outgoing } from './outgoing.js';

export class Admission {
  readonly #connections: Connections;
  readonly #outgoing: Outgoing;

  constructor(
    app: FastifyInstance,
    limits: HttpLimits,
    private readonly bodies: Bodies,
    private readonly queue: CallQueue,
  ) {
    this.#connections = new Connections(app.server, limits, () => inflow.arrived());
    this.#outgoing = new Outgoing(limits.answersBytes);
    app.addHook('onSend', (_request, reply, payload, done) => {
      if (typeof payload === 'string') this.#outgoing.add(reply.raw, payload.length);
      done(null, payload);
    });
  }

  enter(request: FastifyRequest, reply: FastifyReply, done: (refusal?: PerdureError) => void): void {
    const full = this.#connections.refusal();
    if (full) reply.header('connection', 'close');
    const refusal = full ?? this.#outgoing.refusal() ?? this.bodies.enter(request.raw, reply.raw);
    if (refusal) done(refusal);
    else this.queue.enter(request.raw, done);
  }
}
