/** Callbacks in tests: addresses that lead nowhere, and what is posted there nevertheless. */
import crypto from 'node:crypto';
import { type CallbackRef, callbackAddresses, readCallbackToken, tokenTools } from '../core/run/callback.js';
import { UsageError } from '../sdk/errors.js';

const TOOLS = {
  ...tokenTools(crypto, Buffer),
  decode: (text: string) => Buffer.from(text, 'base64url').toString(),
  isSame: (one: string, other: string) => one === other,
};

/** Nobody has this name, and the key keeps nothing from anybody. */
const SETTINGS = { key: 'perdure/testing', publicUrl: 'https://callbacks.test' };

export const callbackAddress = callbackAddresses(TOOLS, SETTINGS);

/** @throws UsageError for what no workflow of a test has made */
export function callbackAt(url: string): CallbackRef {
  const token = String(url).split('/').at(-1) ?? '';
  const callback = readCallbackToken(TOOLS, SETTINGS.key, token);
  if (callback) return callback;
  throw new UsageError(
    `${JSON.stringify(url)} is no address of a callback: give the url that createCallback() gave to the workflow`,
  );
}
