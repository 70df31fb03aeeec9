/**
 * Callbacks that outsiders can make: the token in their address, and the signals that carry what was posted.
 *
 * A token is a claim, which anybody can read, and its signature: it says which callback of which workflow it is for, and
 * nothing else is asked of whoever shows it. It is made where turns run and read by servers, so all of them have the key.
 * The tools come from outside, since the sandbox of a workflow has neither cryptography nor buffers.
 */

import { PerdureError } from '../errors.js';
import { withoutTrailingSlashes } from '../values/base-url.js';
import type { Payload } from '../values/json.js';

/** Carries the id of a callback and what was posted for it. */
export const CALLBACK_SIGNAL = 'perdure.callback';
/** Carries feedback that names no callback. */
export const FEEDBACK_SIGNAL = 'resume';

/** Signals of the service itself: a definition that declares its signals need not name them. */
export const isOwnSignal = (name: string): boolean => name === CALLBACK_SIGNAL || name === FEEDBACK_SIGNAL;

/** What the signal carries; nothing was posted if the second is missing. */
export function callbackArguments(callbackId: string, payload: Payload | undefined): Payload[] {
  const id = JSON.stringify(callbackId);
  return payload === undefined ? [id] : [id, payload];
}

export interface CallbackRef {
  workflowId: string;
  callbackId: string;
  /** The workflow has a schema for what comes: of several that are posted the first that fits counts, not the first. */
  isChecked: boolean;
  /**
   * The run that made it, under an id that no other run makes again: what comes when that run has closed would reach nobody.
   * Missing where the id is the author's own, which the next run of a chain may make again.
   */
  madeBy?: string;
}

/** Ids of callbacks: a generated one, or the author's own. They end up in logs and in bodies of outsiders. */
export const CALLBACK_ID_PATTERN = /^[A-Za-z0-9_.:-]{1,100}$/;

export function isCallbackId(value: unknown): value is string {
  return typeof value === 'string' && CALLBACK_ID_PATTERN.test(value);
}

/** The run that made the callback has closed, and what has come after it in its chain knows nothing of it. */
export function goesOnAsAnother(
  madeBy: { workflowId: string; runId: string },
  latestId: string,
): PerdureError {
  const message = `run ${madeBy.runId}, which made this callback, has closed: the workflow goes on as run ${latestId}, which does not wait for it`;
  return new PerdureError('WorkflowAlreadyClosedError', message, madeBy);
}

export interface TokenTools {
  /** HMAC-SHA256, in base64url. */
  sign(key: string, text: string): string;
  /** UTF-8, in base64url. */
  encode(text: string): string;
}

export function tokenTools(
  { createHmac }: Pick<typeof import('node:crypto'), 'createHmac'>,
  bytes: Pick<typeof Buffer, 'from'>,
): TokenTools {
  return {
    sign: (key, text) => createHmac('sha256', key).update(text).digest('base64url'),
    encode: (text) => bytes.from(text).toString('base64url'),
  };
}

/** What is signed begins with its purpose, so that the key proves nothing else. */
const PURPOSE = 'perdure callback\0';
const SEPARATOR = '.';

export function callbackToken(tools: TokenTools, key: string, callback: CallbackRef): string {
  const { workflowId, callbackId, isChecked, madeBy } = callback;
  const claims = [workflowId, callbackId, isChecked ? 1 : 0, ...(madeBy === undefined ? [] : [madeBy])];
  const claim = tools.encode(JSON.stringify(claims));
  return claim + SEPARATOR + signatureOf(tools, key, claim);
}

/** `isSame` compares in constant time. Undefined for what was not made with this key. */
export function readCallbackToken(
  tools: TokenTools & { decode(text: string): string; isSame(a: string, b: string): boolean },
  key: string,
  token: string,
): CallbackRef | undefined {
  const at = token.indexOf(SEPARATOR);
  const claim = token.slice(0, Math.max(at, 0));
  if (!tools.isSame(token.slice(at + 1), signatureOf(tools, key, claim)) || at < 0) return undefined;
  const [workflowId, callbackId, isChecked, madeBy] = JSON.parse(tools.decode(claim)) as [
    string,
    string,
    number,
    string?,
  ];
  return { workflowId, callbackId, isChecked: isChecked === 1, ...(madeBy !== undefined && { madeBy }) };
}

const signatureOf = (tools: TokenTools, key: string, claim: string): string =>
  tools.sign(key, PURPOSE + claim);

/** What is put before a token. */
export const CALLBACK_PATH = '/callback/';

/** The address that an outsider is given. `publicUrl` may have a path of its own, where a proxy adds one. */
export function callbackUrl(publicUrl: string, token: string): string {
  return withoutTrailingSlashes(publicUrl) + CALLBACK_PATH + token;
}

/** What makes addresses: those who run turns are told the key by their engine. */
export interface CallbackSettings {
  key: string;
  publicUrl: string;
}

/** A function that gives the address of a callback. */
export function callbackAddresses(
  tools: TokenTools,
  { key, publicUrl }: CallbackSettings,
): (callback: CallbackRef) => string {
  return (callback) => callbackUrl(publicUrl, callbackToken(tools, key, callback));
}
