/** For commands that end by themselves, when nobody reads what they write, as in `perdure list | head -1`. */
export function endWhenUnread(): void {
  // Whoever reads no further has seen what it wanted; what has failed by then has failed all the same.
  process.stdout.on('error', ({ code }: NodeJS.ErrnoException) =>
    process.exit(code === 'EPIPE' ? (process.exitCode ?? 0) : 1),
  );
  // The answer is on the other one, and goes on.
  process.stderr.on('error', () => {});
}
