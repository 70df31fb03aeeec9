/**
 * Loaded into the server and its workers before anything else (NODE_OPTIONS=--import): gives the fault points of the
 * program something to do. Only tests have this file.
 *
 *   CRASH_AT       point:nth:variant
 *   CRASH_REACHED  gets a line for every point that a process has come to, and one for the one at which it was ended
 *
 * Variants: `before` ends the process at the point; `inside` when the commit that follows is written and not committed;
 * `after` when it has returned, before anybody is told; `told` when the next answer has left; `lost` cuts the
 * connections of all callers when it has returned, and the process goes on.
 */
import { channel } from 'node:diagnostics_channel';
import { appendFileSync, openSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

const { CRASH_AT, CRASH_REACHED: file } = process.env;

if (isMainThread && CRASH_AT !== undefined) {
  const [wanted, nth, variant] = CRASH_AT.split(':');
  const seen = new Set();
  const waiting = new Set();
  let count = 0;
  let isArmed = false;

  /** Once for all processes that share the file: the worker that replaces another is not ended as well. */
  const strikes = () => {
    try {
      openSync(`${file}.struck`, 'wx');
    } catch {
      return false;
    }
    isArmed = false;
    appendFileSync(file, `struck ${CRASH_AT}\n`);
    return true;
  };
  const end = () => {
    if (strikes()) process.kill(process.pid, 'SIGKILL');
  };

  channel('http.server.request.start').subscribe(({ socket }) => waiting.add(socket));
  channel('http.server.response.finish').subscribe(({ socket }) => {
    waiting.delete(socket);
    if (isArmed && variant === 'told') end();
  });

  globalThis[Symbol.for('perdure.faultPoint')] = (name) => {
    if (!seen.has(name)) {
      seen.add(name);
      appendFileSync(file, `reached ${name}\n`);
    }
    if (isArmed && name === 'commitWritten' && variant === 'inside') end();
    if (isArmed && name === 'commitReturned') {
      if (variant === 'after') end();
      if (variant === 'lost' && waiting.size > 0 && strikes()) for (const socket of waiting) socket.destroy();
    }
    if (name !== wanted || ++count < Number(nth)) return;
    if (variant === 'before') end();
    else if (count === Number(nth)) isArmed = true;
  };
}
