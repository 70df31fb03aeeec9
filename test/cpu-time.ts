/** What this process has used of the processor since then: unlike the time on the clock, others on the machine do not add to it. */
export function spentMs(since: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(since);
  return (user + system) / 1_000;
}
