import { SpanStatusCode, trace } from '@opentelemetry/api';
import { step, stepContext, z } from 'perdure';

const tracer = trace.getTracer('an author');

/** A span of the author's own, over something asynchronous, in an attempt that fails the first time. */
export const work = step({
  name: 'work',
  inputSchema: z.number(),
  options: { retry: { initialInterval: 1, maximumAttempts: 2 } },
  fn: (number) =>
    tracer.startActiveSpan(`work ${number}`, async (span) => {
      try {
        await new Promise((resolve) => setTimeout(resolve, 50));
        if (stepContext().attempt === 1 && number === 0) throw new Error('not yet');
        return number;
      } finally {
        span.setStatus({ code: SpanStatusCode.OK }).end();
      }
    }),
});
