/**
 * Who may call back. The token in the path is all the credentials there are: it is judged before the body is read, in
 * constant time, and whoever shows wrong ones too often is told to come back later, as with wrong API tokens.
 */
import crypto, { timingSafeEqual } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { PerdureError } from '../../core/errors.js';
import { invariant } from '../../core/invariant.js';
import { CALLBACK_PATH, type CallbackRef, readCallbackToken, tokenTools } from '../../core/run/callback.js';
import type { Engine } from '../../engine.js';
import type { WrongTokens } from './wrong-tokens.js';

const TOOLS = {
  ...tokenTools(crypto, Buffer),
  decode: (text: string) => Buffer.from(text, 'base64url').toString(),
  isSame(a: string, b: string) {
    const [one, other] = [Buffer.from(a), Buffer.from(b)];
    return one.length === other.length && timingSafeEqual(one, other);
  },
};

export class Callbacks {
  readonly #admitted = new WeakMap<FastifyRequest, CallbackRef>();

  constructor(
    private readonly engine: Pick<Engine, 'callbackKey'>,
    private readonly wrongTokens: WrongTokens,
  ) {}

  /** Says why the request is refused, or undefined when it may pass. @throws EngineUnavailableError */
  async refusal(request: FastifyRequest): Promise<PerdureError | undefined> {
    const { token } = request.params as { token: string };
    const key = await this.engine.callbackKey();
    const callback = key === undefined ? undefined : readCallbackToken(TOOLS, key, token);
    if (callback) {
      this.#admitted.set(request, callback);
      return undefined;
    }
    const retryAfterSeconds = this.wrongTokens.count(request.raw);
    return retryAfterSeconds === undefined
      ? new PerdureError(
          'NotFoundError',
          'There is no such callback: the address is not one that was given out',
        )
      : new PerdureError('TooManyRequestsError', GUESSED, { retryAfterSeconds });
  }

  /** What the token of a request that was let in stands for. */
  of(request: FastifyRequest): CallbackRef {
    const callback = this.#admitted.get(request);
    invariant(callback, 'a call back was served that nobody has let in');
    return callback;
  }
}

const GUESSED = 'Too many calls to callbacks that do not exist came from this address';

/** Whether the path is judged by the token in it, and not by the credentials of the API. */
export const isCallbackPath = (path: string): boolean => path.startsWith(CALLBACK_PATH);

/** The path as it may stand in a log: without the token. */
export const withoutToken = (path: string): string => path.replace(/^(\/+callback)\/.*/is, '$1/:token');
