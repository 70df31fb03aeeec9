/** A sentence of the server, with the instants in it as people write them. That these change every second is not told. */
import { zone } from '../app/settings.js';
import { useStore } from '../app/store.js';
import { legible } from './legible.js';
import { useNow } from './now.js';
import { exact, relative, short } from './times.js';

const INSTANT = /(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)/;

export function Sentence({ text }: { text: string }) {
  const chosen = useStore(zone);
  const now = useNow();
  return text.split(INSTANT).map((part, index) => {
    // Texts of others can look like an instant and be none, such as one of a month 99.
    const at = INSTANT.test(part) ? Date.parse(part) : Number.NaN;
    if (Number.isNaN(at)) return legible(part);
    return (
      // biome-ignore lint/suspicious/noArrayIndexKey: it is its place in the sentence
      <time key={index} dateTime={part} title={exact(at, chosen)} aria-live="off">
        {short(at, now, chosen)} ({relative(at, now)})
      </time>
    );
  });
}
