/** The HTTP API over any engine. */
export { createTokenCheck, isLoopbackHost, splitTokens } from './door/auth.js';
export { WrongTokens } from './door/wrong-tokens.js';
export { openProbes, type Probes } from './probes/probes.js';
export { createServer, type HttpServer, type ServerOptions } from './server.js';
