/** HTTP from a workflow: requests run as built-in steps, so they are retried and recorded like any other. */
import { FEEDBACK_SIGNAL } from '../core/run/callback.js';
import { type OpenCallback, openCallback } from './callback.js';
import { UsageError } from './errors.js';
import { templatesOf } from './header-templates.js';
import { workflowInfo } from './info.js';
import { defineSignal, setHandler } from './messages.js';
import { checkOptions } from './options.js';
import { currentRuntime, type WorkflowRuntime } from './runtime.js';
import { callBuiltInStep } from './step.js';

export interface HttpRequest {
  /** http or https, without user and password in it. */
  url: string;
  /** Default GET, or POST when there is a payload. */
  method?: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS';
  /** Sent as JSON. A text goes as it is when a content-type header says what it is. */
  payload?: unknown;
  headers?: Record<string, string>;
  responseOptions?: ResponseOptions;
}

/** What of the answer is kept: it becomes part of the history, so leave out what nobody reads. */
export interface ResponseOptions {
  /** True (default) for all but cookies, a list of names, or false. */
  headers?: boolean | string[];
  /** `auto` (default) reads JSON as a value and anything else as text; false leaves it out. */
  body?: 'auto' | 'json' | 'text' | false;
}

export interface HttpResponse {
  /** Where the answer came from, after redirects. */
  url: string;
  status: number;
  statusText: string;
  ok: boolean;
  /** Names in lower case. */
  headers: Record<string, string>;
  /** A JSON value or a text; null when there is none or it was not asked for. */
  body: unknown;
}

/**
 * Makes a request as a step. An answer outside 200 to 299 fails it with an `HttpError` that has `status` and `body`, if that
 * is not left out: 408, 429 and 5xx are tried again by the step's policy, others are not. Where a 429 or 503 says when to
 * come back (`Retry-After`), the next attempt starts then.
 */
export async function sendHttpRequest(request: HttpRequest): Promise<HttpResponse> {
  checkRequest('sendHttpRequest()', request, ['url', 'method', 'payload', 'headers', 'responseOptions']);
  if (request.responseOptions !== undefined)
    checkOptions('responseOptions of sendHttpRequest()', request.responseOptions, ['headers', 'body']);
  const sent = { ...request, ...templatesOf(request) };
  return (await callBuiltInStep('sendHttpRequest', sent)) as HttpResponse;
}

export interface WebhookRequest {
  url: string;
  payload?: unknown;
  headers?: Record<string, string>;
}

/**
 * Posts `{ workflowId, payload, callbackId, callbackUrl }` to a service and waits until it answers: with POST to
 * `callbackUrl`, or by POST /workflow/{workflowId}/feedback, whose body may name the `callbackId`. Resolves to what was
 * answered. Feedback that names no callback goes to the call that has waited longest; what comes before it is waited
 * for is kept, in order.
 */
export async function sendPostRequestAndAwaitWebhook(request: WebhookRequest): Promise<unknown> {
  const what = 'sendPostRequestAndAwaitWebhook()';
  checkRequest(what, request, ['url', 'payload', 'headers']);
  const feedback = feedbackOf(currentRuntime(what));
  const callback = openCallback(what);
  const { url, headers, payload } = request;
  const { workflowId } = workflowInfo();
  const posted = { workflowId, payload, callbackId: callback.id, callbackUrl: callback.url };
  await callBuiltInStep('sendPostRequest', { url, headers, ...templatesOf(request), payload: posted });
  return feedback.answerOf(callback);
}

function checkRequest(what: string, request: { url: string }, known: readonly string[]): void {
  checkOptions(what, request, known);
  if (typeof request.url !== 'string') throw new UsageError(`${what} needs a url`);
}

const resume = defineSignal<[unknown]>(FEEDBACK_SIGNAL);

/**
 * Feedback of one run that names no callback, in the order it came; whoever waits first gets the next one. Waiting begins
 * when the request has been answered: recorded histories have it so.
 */
class Feedback {
  readonly #received: unknown[] = [];
  #waiting: OpenCallback[] = [];

  receive(payload: unknown): void {
    this.#leaveAnswered();
    const callback = this.#waiting.shift();
    if (callback) callback.answer(payload);
    else this.#received.push(payload);
  }

  answerOf(callback: OpenCallback): Promise<unknown> {
    if (!callback.isAnswered && this.#received.length > 0) callback.answer(this.#received.shift());
    if (!callback.isAnswered) this.#waiting.push(callback);
    return callback.wait(() => {
      this.#waiting = this.#waiting.filter((other) => other !== callback);
    });
  }

  /** Those that were answered at their own address do not wait any more. */
  #leaveAnswered(): void {
    this.#waiting = this.#waiting.filter(({ isAnswered }) => !isAnswered);
  }
}

const feedbacks = new WeakMap<WorkflowRuntime, Feedback>();

/** The runtime keeps signals without a handler, so those from before the first use arrive here as well. */
function feedbackOf(runtime: WorkflowRuntime): Feedback {
  let feedback = feedbacks.get(runtime);
  if (!feedback) {
    const made = new Feedback();
    feedbacks.set(runtime, made);
    setHandler(resume, (payload) => made.receive(payload));
    feedback = made;
  }
  return feedback;
}
