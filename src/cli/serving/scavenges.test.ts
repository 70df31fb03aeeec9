import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

/** As it was built: what runs the sources themselves changes how V8 compiles the loop below. */
const MODULE = fileURLToPath(new URL('../../../dist/cli/serving/scavenges.js', import.meta.url));

/** Of a thousand lists that are made after many that have lived long: how many are new to V8. */
function youngOfThousand(prepare: string): number {
  const program = `
    import { startAllYoung } from ${JSON.stringify(MODULE)};
    ${prepare}
    function make(i) { return [i, i]; }
    const kept = [];
    for (let round = 0; round < 12; round++) for (let i = 0; i < 300_000; i++) kept.push(make(i));
    let young = 0;
    for (let i = 0; i < 1_000; i++) if (%InYoungGeneration(make(i))) young++;
    console.log(young);`;
  const flags = ['--allow-natives-syntax', '--input-type=module', '-e', program];
  return Number(execFileSync(process.execPath, flags));
}

// Later versions of V8 do not make them old at once.
it.skipIf(!/^11\./.test(process.versions.v8))(
  'has objects begin young, also where those before them have lived long',
  () => {
    expect(youngOfThousand('')).toBeLessThan(1_000);
    expect(youngOfThousand('startAllYoung();')).toBe(1_000);
  },
);
