/** What comes of holding a history against code: it fits, or where it no longer does. */
export type ReplayResult =
  | { ok: true }
  | {
      ok: false;
      /** For a person: where it no longer fits, and how. */
      message: string;
      /** The first event that does not fit; null where the code cannot be run at all. */
      eventId: string | null;
      /** What the history has there; null where it has nothing. */
      expected: string | null;
      /** What the code now asks for; null where it asks for nothing. */
      got: string | null;
    };
