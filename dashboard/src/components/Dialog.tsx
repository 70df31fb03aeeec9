/** The browser's own dialog: it keeps the focus inside, gives it back, and Escape closes it. */
import { type ReactNode, useId, useLayoutEffect, useRef } from 'react';
import { IconButton } from './Button.js';
import { legible } from './legible.js';

export function Dialog({
  title,
  onClose,
  children,
  actions,
  isWide = false,
}: {
  title: string;
  /** Undefined where it cannot be left without an answer. */
  onClose?: () => void;
  children: ReactNode;
  actions?: ReactNode;
  isWide?: boolean;
}) {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  // Closed before it is taken off the page: only then does the browser give the focus back.
  useLayoutEffect(() => {
    const dialog = element.current!;
    if (!dialog.open) dialog.showModal();
    return () => dialog.close();
  }, []);
  return (
    <dialog
      ref={element}
      className={`dialog ${isWide ? 'dialog-wide' : ''}`}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose?.();
      }}
    >
      <header className="dialog-head">
        <h2 id={id}>{legible(title)}</h2>
        {onClose && <IconButton label="Close" icon="close" onClick={onClose} />}
      </header>
      <div className="dialog-body">{children}</div>
      {actions && <footer className="dialog-foot">{actions}</footer>}
    </dialog>
  );
}
