/** The one client of the page. It knows nothing that another program could not know: it is `perdure/client` over fetch. */
import { createClient } from 'perdure/client';
import { heardDate } from './clock.js';
import { answered, doubted, unreachable } from './connection.js';
import { admission, currentToken, refused } from './session.js';

/** The page is in a folder of the API, wherever that is served. */
export const pagePath = new URL(document.baseURI).pathname.replace(/\/$/, '');
export const apiUrl = new URL('..', document.baseURI).href.replace(/\/$/, '');

/** What takes longer may be code of users that takes its time, or a server that hangs: it is asked which. */
const LONG_MS = 4_000;

async function watchedFetch(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  const token = currentToken();
  const sentAt = Date.now();
  const doubt = setTimeout(() => doubted(askHealth), LONG_MS);
  let response: Response;
  try {
    // Without the browser's own credentials: with them it would ask for a password in a window of its own.
    response = await fetch(input, { ...init, credentials: 'omit' });
  } catch (error) {
    if (!init?.signal?.aborted) unreachable(askHealth);
    throw error;
  } finally {
    clearTimeout(doubt);
  }
  heardDate(response.headers.get('date'), sentAt);
  if (isOfProxy(response)) unreachable(askHealth);
  else answered();
  if (response.status === 401) refused(token);
  return response;
}

/** Whether it is what a proxy says of a server that is away: the server's own words are always JSON. */
const isOfProxy = ({ status, headers }: Response): boolean =>
  status === 502 || (status === 503 && !headers.get('content-type')?.startsWith('application/json'));

/**
 * While a token is asked for nothing is sent: views go on asking, and a server makes an address wait that comes with a
 * wrong token again and again.
 */
async function admittedFetch(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  if (admission.value === 'open') return watchedFetch(input, init);
  const refusal = { error: 'UnauthorizedError', message: 'The server needs a token' };
  return Response.json(refusal, { status: 401 });
}

/** A server that is there answers this at once, whatever else it has to do. */
const HEALTH_WITHIN_MS = 4_000;

const askHealth = () =>
  watchedFetch(`${apiUrl}/health`, { cache: 'no-store', signal: AbortSignal.timeout(HEALTH_WITHIN_MS) });

export const client = createClient({
  baseUrl: apiUrl,
  token: currentToken as () => string,
  fetch: admittedFetch,
  // What is read is asked for again by the cache of queries, which also shows that it cannot be had.
  retryForMs: 0,
});
