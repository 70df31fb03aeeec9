/** Short words about what has just been done. They go away by themselves, and screen readers say them. */
import { Store, useStore } from '../app/store.js';
import { IconButton } from './Button.js';
import { legible } from './legible.js';

interface Notice {
  id: number;
  text: string;
  kind: 'done' | 'failed';
}

const SHOWN_MS = 6_000;
const notices = new Store<readonly Notice[]>([]);
let lastId = 0;

export function notify(text: string, kind: Notice['kind'] = 'done'): void {
  const id = ++lastId;
  notices.set([...notices.value, { id, text, kind }]);
  // What failed stays until somebody has read it.
  if (kind === 'done') setTimeout(() => dismiss(id), SHOWN_MS);
}

const dismiss = (id: number) => notices.set(notices.value.filter((each) => each.id !== id));

export function Notices() {
  return (
    <div className="notices" role="status" aria-live="polite">
      {useStore(notices).map(({ id, text, kind }) => (
        <div key={id} className={`notice notice-${kind}`}>
          <span>{legible(text)}</span>
          <IconButton label="Dismiss" icon="close" onClick={() => dismiss(id)} />
        </div>
      ))}
    </div>
  );
}
