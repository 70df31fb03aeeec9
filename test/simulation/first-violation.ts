/** Goes through worlds until one violates a rule, and prints which as JSON: for a checkout with a bug in it. */
import { campaign, PROGRAMS_PER_WORLD } from './campaign.js';

const programs = Number(process.argv[2]);
const worlds = Array.from({ length: Math.ceil(programs / PROGRAMS_PER_WORLD) }, (_, world) => world);
const { tally, failing } = await campaign({ seed: 'bugs', worlds, maxFailing: 1 });
console.log(JSON.stringify({ violation: failing[0]?.violation.slice(0, 500), tried: tally.programs }));
