/** Whether a Temporal cluster can be worked on from here. */

import type { ServerSettings } from '../options.js';
import { openTemporalProbe } from '../serving/on-temporal.js';
import { type Finding, fail, ok } from './finding.js';

const PACKAGES = 'Temporal packages';
const CLUSTER = 'Temporal cluster';

export async function temporalFindings(
  settings: Pick<ServerSettings, 'engine'> & Parameters<typeof openTemporalProbe>[0],
): Promise<Finding[]> {
  if (settings.engine !== 'temporal') {
    const message = 'not needed: the engine is embedded (--engine temporal looks at them)';
    return [ok(PACKAGES, message), ok(CLUSTER, message)];
  }
  const where = `${settings.temporalAddress}, namespace ${settings.temporalNamespace}`;
  let probe: Awaited<ReturnType<typeof openTemporalProbe>>;
  try {
    probe = await openTemporalProbe(settings);
  } catch (error) {
    const { name, message } = error as Error;
    if (name !== 'MissingPeerError') return [ok(PACKAGES, 'installed'), fail(CLUSTER, message, REMEDY)];
    const [what = message, command] = message.split(' Run: ');
    const remedy = command === undefined ? 'Install them.' : `Run: ${command}`;
    return [fail(PACKAGES, what, remedy), fail(CLUSTER, 'not asked, since the packages are missing', remedy)];
  }
  try {
    await probe.ready();
    return [ok(PACKAGES, 'installed'), ok(CLUSTER, `${where} answers`)];
  } catch (error) {
    return [ok(PACKAGES, 'installed'), fail(CLUSTER, `${where}: ${(error as Error).message}`, REMEDY)];
  } finally {
    await probe.close();
  }
}

const REMEDY =
  'Start the cluster, or name it with --temporal-address and --temporal-namespace, with --temporal-api-key or the --temporal-tls options where it wants them.';
