// The workloads as one writes them for Restate: a service, and an object for what has a state and takes messages.
import './promise-with-resolvers.mjs';
import { createServer } from 'node:http2';
import { createEndpointHandler, handlers, object, RestatePromise, service } from '@restatedev/restate-sdk';

const inARow = (steps) => async (ctx, input) => {
  let value = input;
  for (let step = 1; step <= steps; step++) {
    const before = value;
    value = await ctx.run(`step${step}`, () => before);
  }
  return value;
};

const bench = service({
  name: 'Bench',
  handlers: {
    steps0: inARow(0),
    steps1: inARow(1),
    steps3: inARow(3),
    steps20: inARow(20),
    parallel: async (ctx, input) => {
      await RestatePromise.all(Array.from({ length: 100 }, (_, i) => ctx.run(`step${i}`, () => input)));
      return input;
    },
  },
});

const counter = object({
  name: 'Counter',
  handlers: {
    add: async (ctx, amount) => {
      const total = ((await ctx.get('total')) ?? 0) + amount;
      ctx.set('total', total);
      return { total };
    },
    total: handlers.object.shared(async (ctx) => ({ total: (await ctx.get('total')) ?? 0 })),
  },
});

const server = createServer(createEndpointHandler({ services: [bench, counter] }));
server.listen(Number(process.argv[2]), '127.0.0.1');
