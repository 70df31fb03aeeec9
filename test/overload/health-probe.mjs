/**
 * Asks a server for its health all the time, as a process of its own: what it measures is the server and not the load
 * around it. It asks in turn on a connection that it keeps, as a load balancer does, and on a new one, as an
 * orchestrator's probes do.
 *
 * `node health-probe.mjs PORT`; at the end of its standard input it prints the times of both kinds in milliseconds as
 * JSON, null for what was not answered.
 */
import { Agent, request } from 'node:http';

const port = Number(process.argv[2]);
const INTERVAL_MS = 20;
const GIVE_UP_MS = 20_000;

let isOver = false;
process.stdin.resume();
process.stdin.on('end', () => {
  isOver = true;
});

function ask(agent) {
  const begunAt = performance.now();
  return new Promise((resolve) => {
    const options = { host: '127.0.0.1', port, path: '/health', agent, timeout: GIVE_UP_MS };
    const asked = request(options, (response) => {
      response.resume();
      response.on('end', () => resolve(response.statusCode === 200 ? performance.now() - begunAt : null));
    });
    asked.on('timeout', () => asked.destroy());
    asked.on('error', () => resolve(null));
    asked.end();
  });
}

async function askAllTheTime(agent) {
  const times = [];
  while (!isOver) {
    times.push(await ask(agent));
    await new Promise((resolve) => setTimeout(resolve, INTERVAL_MS));
  }
  return times;
}

const [kept, fresh] = await Promise.all([
  askAllTheTime(new Agent({ keepAlive: true, maxSockets: 1 })),
  askAllTheTime(false),
]);
process.stdout.write(JSON.stringify({ kept, fresh }), () => process.exit(0));
