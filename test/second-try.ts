/**
 * Cases beside programs of others, a Temporal server or a browser, get a second try: what goes wrong there once in some
 * thousand times need not be ours. The end of the run names each that wanted one, with its error (test/reporter.ts), since
 * it may be ours all the same. What only our own programs take part in gets none, but for cases that a failing store has
 * restarted the engine under (test/store-faults/attempts.ts).
 */
export const SECOND_TRY = { retry: 1 };
