import { zone } from '../app/settings.js';
import { useStore } from '../app/store.js';
import { useNow } from './now.js';
import { duration, exact, millis, relative } from './times.js';

/** When something was or will be, from now; the exact instant on hover, in the chosen zone. */
export function Time({ at, isExact = false }: { at: string | number; isExact?: boolean }) {
  const now = useNow();
  const chosen = useStore(zone);
  const instant = millis(at);
  const whole = exact(instant, chosen);
  return (
    <time className="time" dateTime={new Date(instant).toISOString()} title={isExact ? undefined : whole}>
      {isExact ? whole : relative(instant, now)}
    </time>
  );
}

/** How long something took, or takes so far. */
export function Took({ from, to }: { from: string | number; to?: string | number | null }) {
  const now = useNow();
  return (
    <span className="time">{duration(Math.max(0, (to == null ? now : millis(to)) - millis(from)))}</span>
  );
}
