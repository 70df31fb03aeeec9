/**
 * How many connections a process with so many file descriptors may have: a fifth of them, and some more, are for the
 * database, traces, workers and what the program opens for a moment. Without it a crowd of callers could take them all.
 */
import { readFileSync } from 'node:fs';
import { DEFAULT_HTTP_LIMITS } from '../../core/bounds/limits.js';

const RESERVED = 50;

export function allowedConnections(openFiles = openFilesLimit()): number {
  const spare = Math.floor(openFiles * 0.8) - RESERVED;
  return Math.max(10, Math.min(DEFAULT_HTTP_LIMITS.connections, spare));
}

/** Node has raised the soft limit to the hard one by now. Infinity where the system does not say. */
function openFilesLimit(): number {
  try {
    const limit = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
    return limit === undefined ? Number.POSITIVE_INFINITY : Number(limit);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
