import { type ReactNode, useEffect } from 'react';
import { legible } from './legible.js';

/** A view with its heading, which is also the title of the tab. */
export function Page({ title, tools, children }: { title: string; tools?: ReactNode; children: ReactNode }) {
  useTitle(title);
  return (
    <div className="page stack">
      <div className="line page-head">
        <h1>{legible(title)}</h1>
        {tools}
      </div>
      {children}
    </div>
  );
}

export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${legible(title)} · perdure`;
  }, [title]);
}
