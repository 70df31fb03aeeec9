/**
 * Output's HTTP helpers: what of an answer is kept has to be asked for, and `$NAME` in a header is the value of that
 * environment variable of the worker, which never stands in a history.
 */

import { withTemplates } from '../sdk/header-templates.js';
import {
  type HttpRequest,
  type HttpResponse,
  sendHttpRequest as send,
  sendPostRequestAndAwaitWebhook as sendAndAwait,
  type WebhookRequest,
} from '../sdk/index.js';
import { checkOptions } from '../sdk/options.js';

export type HttpMethod = 'HEAD' | 'GET' | 'POST' | 'PUT' | 'DELETE' | 'PATCH';

export interface OutputHttpRequest extends Omit<HttpRequest, 'method' | 'responseOptions'> {
  method?: HttpMethod;
  responseOptions?: {
    /** Default false. */
    includeHeaders?: boolean;
    /** Default false. */
    includeBody?: boolean;
  };
}

/** Headers and body are there if they were asked for. */
export interface SerializedFetchResponse extends Pick<HttpResponse, 'url' | 'status' | 'statusText' | 'ok'> {
  headers: Record<string, string>;
  // biome-ignore lint/suspicious/noExplicitAny: an answer is whatever the service says
  body: any;
}

const RESPONSE_OPTIONS = ['includeHeaders', 'includeBody'];

export async function sendHttpRequest(request: OutputHttpRequest): Promise<SerializedFetchResponse> {
  const { responseOptions = {}, ...rest } = request;
  checkOptions('responseOptions of sendHttpRequest()', responseOptions, RESPONSE_OPTIONS);
  const { includeHeaders = false, includeBody = false } = responseOptions;
  const { headers, body, ...answer } = await send(
    withTemplates({
      ...rest,
      responseOptions: { headers: includeHeaders, body: includeBody ? 'auto' : false },
    }),
  );
  return {
    ...answer,
    ...(includeHeaders && { headers }),
    ...(includeBody && { body }),
  } as SerializedFetchResponse;
}

/** Posts, and waits for POST /workflow/{id}/feedback; resolves to its payload. */
export function sendPostRequestAndAwaitWebhook(request: WebhookRequest): Promise<unknown> {
  return sendAndAwait(withTemplates({ ...request }));
}
