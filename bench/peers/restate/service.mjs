// The Restate side of the comparison: the same two workloads as bench/workflows, as handlers of one service.
import './promise-with-resolvers.mjs';
import { createServer } from 'node:http2';
import { createEndpointHandler, service } from '@restatedev/restate-sdk';

const bench = service({
  name: 'Bench',
  handlers: {
    zero: async (_ctx, input) => input,
    three: async (ctx, input) => {
      const first = await ctx.run('first', () => input);
      const second = await ctx.run('second', () => first);
      return ctx.run('third', () => second);
    },
  },
});

const server = createServer(createEndpointHandler({ services: [bench] }));
server.listen(Number(process.argv[2]), '127.0.0.1');
