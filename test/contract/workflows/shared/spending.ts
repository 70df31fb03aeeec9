import { z } from 'perdure';
import { place } from './ledger.js';

export const spending = place.extend({
  amount: z.string(),
  currency: z.string().optional(),
  /** Attempts that fail after they have spent. */
  fails: z.number().optional(),
  /** Attempts that hang after they have spent, until their time is up. */
  hangs: z.number().optional(),
  /** What the test opens before the step ends. */
  gate: z.string().optional(),
  /** What it says with a heartbeat of its own. */
  beats: z.string().optional(),
});
