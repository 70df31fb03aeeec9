// How much the load generator can send on this machine: measured against a server that does nearly nothing. A measurement
// that comes near it says more about the generator than about the system.
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  freePort,
  load,
  removeFolder,
  startServer,
  stopServer,
  temporaryFolder,
  until,
} from './processes.mjs';
import { number, percent } from './table.mjs';

const ECHO = fileURLToPath(new URL('../peers/bare/echo.mjs', import.meta.url));
const NEAR = 0.5;

export async function measureGenerator(seconds) {
  const folder = temporaryFolder('generator');
  const port = await freePort();
  const server = startServer(process.execPath, [ECHO, String(port)], { logFile: join(folder, 'echo.log') });
  try {
    await until(server, 'the echo answering', async () => (await fetch(`http://127.0.0.1:${port}`)).ok);
    const call = { port, path: '/', body: '{"n":7}', expect: '{"n":7}' };
    const { perSecond } = await load({ ...call, connections: 128, seconds, warmUpSeconds: 0.5 });
    return perSecond;
  } finally {
    await stopServer(server);
    removeFolder(folder);
  }
}

/** What has to be said of samples that were limited by the generator, or nothing. */
export function limitedByGenerator(samples, mostPerSecond) {
  return samples
    .filter(({ perSecond, generatorBusy }) => perSecond > NEAR * mostPerSecond || generatorBusy > 0.9)
    .map(
      ({ system, perSecond, generatorBusy, ...rest }) =>
        `${system}, ${rest.cell}: ${number(perSecond)}/s of the ${number(mostPerSecond)}/s that the generator can send, which was busy for ${percent(generatorBusy)} of a processor: it could have been faster`,
    );
}
