/** HTTP from a workflow: requests run as built-in steps, so they are retried and recorded like any other. */
import { UsageError } from './errors.js';
import { workflowInfo } from './info.js';
import { defineSignal, setHandler } from './messages.js';
import { currentRuntime, type Settle, type WorkflowRuntime } from './runtime.js';
import { inCurrentScope } from './scope.js';
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
 * Makes a request as a step. An answer outside 200 to 299 fails it with an `HttpError` that has `status` and `body`:
 * 408, 429 and 5xx are tried again by the step's policy, others are not.
 */
export async function sendHttpRequest(request: HttpRequest): Promise<HttpResponse> {
  checkRequest('sendHttpRequest()', request);
  return (await callBuiltInStep('sendHttpRequest', request)) as HttpResponse;
}

export interface WebhookRequest {
  url: string;
  payload?: unknown;
  headers?: Record<string, string>;
}

/**
 * Posts `{ workflowId, payload }` to a service and waits until it answers by POST /workflow/{workflowId}/feedback;
 * resolves to that answer's payload. Feedback that comes before it is waited for is kept, in order.
 */
export async function sendPostRequestAndAwaitWebhook(request: WebhookRequest): Promise<unknown> {
  checkRequest('sendPostRequestAndAwaitWebhook()', request);
  const feedback = feedbackOf(currentRuntime('sendPostRequestAndAwaitWebhook()'));
  const { url, headers, payload } = request;
  const { workflowId } = workflowInfo();
  await callBuiltInStep('sendPostRequest', { url, headers, payload: { workflowId, payload } });
  return feedback.next();
}

function checkRequest(what: string, request: { url: string }): void {
  if (typeof request?.url !== 'string') throw new UsageError(`${what} needs a url`);
}

const resume = defineSignal<[unknown]>('resume');

/** Feedback of one run in the order it came; whoever waits first gets the next one. */
class Feedback {
  readonly #received: unknown[] = [];
  readonly #waiting: Settle<unknown>[] = [];

  receive(payload: unknown): void {
    const waiter = this.#waiting.shift();
    if (waiter) waiter.resolve(payload);
    else this.#received.push(payload);
  }

  next(): Promise<unknown> {
    return inCurrentScope<unknown>('waiting for feedback', (settle) => {
      if (this.#received.length > 0) {
        settle.resolve(this.#received.shift());
        return () => {};
      }
      this.#waiting.push(settle);
      return (cancellation) => {
        const at = this.#waiting.indexOf(settle);
        if (at < 0) return;
        this.#waiting.splice(at, 1);
        settle.reject(cancellation);
      };
    });
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
