/** `perdure/server` in a program of somebody else's, as the type checker sees it. Never run. */
import { createServer, EmbeddedEngine, startWorkers } from 'perdure/server';

export const parts = { createServer, EmbeddedEngine, startWorkers };
