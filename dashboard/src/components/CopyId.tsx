import { useEffect, useState } from 'react';
import { IconButton } from './Button.js';
import { copyText } from './copy.js';
import { legible, shorten } from './legible.js';

const SHOWN_MS = 1_500;

/** A text to take along. Says that it has been copied, also to those who hear the page. */
export function CopyButton({ text, label }: { text: string; label: string }) {
  const [state, setState] = useState<'idle' | 'done' | 'failed'>('idle');
  useEffect(() => {
    if (state === 'idle') return;
    const timer = setTimeout(() => setState('idle'), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [state]);
  const said = { idle: label, done: 'Copied', failed: 'Could not be copied: select it and copy it by hand' };
  return (
    <IconButton
      className="copy"
      icon={state === 'done' ? 'completed' : 'copy'}
      label={said[state]}
      onClick={(event) => {
        event.stopPropagation();
        void copyText(text).then((isCopied) => setState(isCopied ? 'done' : 'failed'));
      }}
    />
  );
}

/** An id: shortened in the middle, whole on hover and on copy. */
export function CopyId({ id, length, label = 'Copy id' }: { id: string; length?: number; label?: string }) {
  return (
    <span className="copy-id">
      <code title={legible(id)}>{shorten(id, length)}</code>
      <CopyButton text={id} label={label} />
    </span>
  );
}
