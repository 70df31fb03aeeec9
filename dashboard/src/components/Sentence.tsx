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
    if (!INSTANT.test(part)) return legible(part);
    const at = Date.parse(part);
    return (
      // biome-ignore lint/suspicious/noArrayIndexKey: it is its place in the sentence
      <time key={index} dateTime={part} title={exact(at, chosen)} aria-live="off">
        {short(at, chosen)} ({relative(at, now)})
      </time>
    );
  });
}
