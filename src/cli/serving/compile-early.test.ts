import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const MODULE = fileURLToPath(new URL('./compile-early.ts', import.meta.url));

/** How often a small function is called before V8 has compiled it for good. */
function callsUntilCompiled(prepare: string): number {
  const program = `
    import { compileEarly } from ${JSON.stringify(MODULE)};
    ${prepare}
    const OPTIMIZED = 1 << 4;
    function decide(run) { let sum = 0; for (const key in run) sum += run[key]; return sum; }
    let calls = 0;
    while ((%GetOptimizationStatus(decide) & OPTIMIZED) === 0 && ++calls < 1_000_000) decide({ a: 1, b: calls });
    console.log(calls);`;
  const flags = ['--allow-natives-syntax', '--no-concurrent-recompilation', '--import', 'tsx'];
  return Number(execFileSync(process.execPath, [...flags, '--input-type=module', '-e', program]));
}

it.skipIf(!/^11\./.test(process.versions.v8))('compiles what runs often after half the calls', () => {
  const early = callsUntilCompiled('compileEarly();');
  expect(early).toBeGreaterThan(10);
  expect(early * 2).toBeLessThan(callsUntilCompiled(''));
});
