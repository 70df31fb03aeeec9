import { expect, it } from 'vitest';
import { readTraceContext } from './trace-context.js';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';

it('reads what the standard calls a context', () => {
  const traceparent = `00-${TRACE}-${SPAN}-01`;
  expect(readTraceContext(traceparent)).toEqual({ traceparent });
  expect(readTraceContext(traceparent, 'vendor=a,other=b')).toEqual({
    traceparent,
    tracestate: 'vendor=a,other=b',
  });
});

it('takes from later versions what this one knows', () => {
  expect(readTraceContext(`cc-${TRACE}-${SPAN}-01-what-comes`)).toEqual({
    traceparent: `00-${TRACE}-${SPAN}-01`,
  });
});

it.each([
  ['nothing', undefined],
  ['several', `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`],
  ['capitals', `00-${TRACE.toUpperCase()}-${SPAN}-01`],
  ['a trace of zeros', `00-${'0'.repeat(32)}-${SPAN}-01`],
  ['a span of zeros', `00-${TRACE}-${'0'.repeat(16)}-01`],
  ['the version that cannot be', `ff-${TRACE}-${SPAN}-01`],
  ['more than version 00 has', `00-${TRACE}-${SPAN}-01-more`],
  ['a line break', `00-${TRACE}-${SPAN}-01\n`],
])('ignores %s', (_what, traceparent) => {
  expect(readTraceContext(traceparent, 'vendor=a')).toBeUndefined();
});

it.each([
  ['long', `a=${'x'.repeat(600)}`],
  ['unprintable', 'a=\u001b[31m'],
  ['empty', ''],
])('leaves out a state that is %s', (_what, tracestate) => {
  const traceparent = `00-${TRACE}-${SPAN}-01`;
  expect(readTraceContext(traceparent, tracestate)).toEqual({ traceparent });
});
