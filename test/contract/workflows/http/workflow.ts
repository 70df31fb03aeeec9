import { sendHttpRequest, sendPostRequestAndAwaitWebhook, workflow } from 'perdure';
import { settled } from '../shared/described.js';

type HttpRequest = Parameters<typeof sendHttpRequest>[0];

export const sendsRequest = workflow({
  name: 'sendsRequest',
  fn: async (input) => settled(sendHttpRequest(input as HttpRequest)),
});

export const awaitsWebhook = workflow({
  name: 'awaitsWebhook',
  fn: async (url) =>
    sendPostRequestAndAwaitWebhook({
      url: url as string,
      payload: { ask: 'please' },
      headers: { 'x-from': 'test' },
    }),
});

export const awaitsTwoWebhooks = workflow({
  name: 'awaitsTwoWebhooks',
  fn: async (url) => {
    const first = await sendPostRequestAndAwaitWebhook({ url: url as string, payload: 1 });
    const second = await sendPostRequestAndAwaitWebhook({ url: url as string, payload: 2 });
    return [first, second];
  },
});
