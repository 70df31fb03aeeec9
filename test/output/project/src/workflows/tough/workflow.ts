import {
  FatalError,
  sendHttpRequest,
  sendPostRequestAndAwaitWebhook,
  TransparentFatalError,
  workflow,
  z,
} from 'perdure/output';

export const calls = workflow({
  name: 'calls',
  inputSchema: z.object({ url: z.string() }),
  fn: async ({ url }) => {
    const headers = { authorization: 'Bearer $SERVICE_TOKEN' };
    const plain = await sendHttpRequest({ url, headers });
    const whole = await sendHttpRequest({
      url,
      method: 'POST',
      payload: { a: 1 },
      responseOptions: { includeHeaders: true, includeBody: true },
    });
    return { plain, whole: { ...whole, headers: whole.headers['x-answer'] } };
  },
});

export const asks = workflow({
  name: 'asks',
  inputSchema: z.object({ url: z.string() }),
  fn: async ({ url }) =>
    sendPostRequestAndAwaitWebhook({ url, payload: { title: 'T' }, headers: { 'x-key': '$SERVICE_TOKEN' } }),
});

export const lacks = workflow({
  name: 'lacks',
  inputSchema: z.object({ url: z.string() }),
  fn: async ({ url }) => sendHttpRequest({ url, headers: { authorization: '$NOT_SET_ANYWHERE' } }),
});

export const gives_up = workflow({
  name: 'gives_up',
  inputSchema: z.enum(['fatal', 'transparent']),
  fn: async (how) => {
    if (how === 'fatal') throw new FatalError('no use');
    throw new TransparentFatalError(Object.assign(new RangeError('too far'), { code: 7 }));
  },
});
