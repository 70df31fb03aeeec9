// The least that makes Temporal's own client callable over HTTP: starts `three` with the body and answers its result.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { Client, Connection } from '@temporalio/client';

const [address, taskQueue, port] = process.argv.slice(2);
const { workflow } = new Client({ connection: await Connection.connect({ address }) });

createServer(async (request, response) => {
  try {
    const { input } = await json(request);
    const output = await workflow.execute('three', { taskQueue, workflowId: randomUUID(), args: [input] });
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ output }));
  } catch (error) {
    response.writeHead(500).end(JSON.stringify({ error: String(error) }));
  }
}).listen(Number(port), '127.0.0.1');
