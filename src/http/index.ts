/** The HTTP API over any engine. */
export { createTokenCheck, isLoopbackHost, splitTokens } from './auth.js';
export { createServer, type HttpServer, type ServerOptions } from './server.js';
