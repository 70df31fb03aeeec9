/**
 * Asks a server for its health all the time, as a process of its own: what it measures is the server and not the load
 * around it. It asks on a connection that it keeps, as a load balancer does, and on new ones, as an orchestrator's
 * probes do: at the port of the API and at that of probes.
 *
 * `node health-probe.mjs PORT PROBE_PORT`; at the end of its standard input it prints the times of each kind in
 * milliseconds as JSON, null for what was not answered.
 */
import { Agent, request } from 'node:http';

const [apiPort, probePort] = process.argv.slice(2).map(Number);
const INTERVAL_MS = 20;
const GIVE_UP_MS = 20_000;

let isOver = false;
process.stdin.resume();
process.stdin.on('end', () => {
  isOver = true;
});

function ask(port, agent) {
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

async function askAllTheTime(port, agent) {
  const times = [];
  while (!isOver) {
    times.push(await ask(port, agent));
    await new Promise((resolve) => setTimeout(resolve, INTERVAL_MS));
  }
  return times;
}

const [kept, fresh, apart] = await Promise.all([
  askAllTheTime(apiPort, new Agent({ keepAlive: true, maxSockets: 1 })),
  askAllTheTime(apiPort, false),
  askAllTheTime(probePort, false),
]);
process.stdout.write(JSON.stringify({ kept, fresh, apart }), () => process.exit(0));
