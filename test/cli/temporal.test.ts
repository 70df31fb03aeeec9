import { expect, it } from 'vitest';
import { startTemporalSystem } from '../http/temporal-system.js';
import { takeOneIn } from '../share.js';
import { DevServer } from '../temporal/dev-server.js';
import { describeTemporal } from '../temporal/required.js';
import { everyCommand } from './every-command.js';
import { call } from './shell.js';

takeOneIn(3);

describeTemporal('every command on Temporal', () => everyCommand(startTemporalSystem, { hasBackups: false }));

describeTemporal('doctor', () => {
  it('finds the packages and the cluster', async () => {
    const cluster = await DevServer.start();
    try {
      const args = ['--engine', 'temporal', '--temporal-address', cluster.address, '--port', '0', '--json'];
      const at = (namespace: string) => call(['doctor', ...args, '--temporal-namespace', namespace]);
      const found = await at(cluster.namespace);
      expect(JSON.parse(found.stdout)).toMatchObject({ ok: true });
      expect(found.stdout).toContain(`${cluster.address}, namespace ${cluster.namespace} answers`);
      const nowhere = await at('no-such-namespace');
      expect(nowhere.code).toBe(1);
      expect(nowhere.stdout).toMatch(/"Temporal cluster","status":"fail","message":"[^"]*no-such-namespace/);
    } finally {
      await cluster.stop();
    }
  });
});
