import { useEffect, useState } from 'react';

/** What takes longer than this shows that it goes on; what is quicker would only flicker. */
const SHOW_AFTER_MS = 300;

export function Loading({ what }: { what: string }) {
  const [isSlow, setIsSlow] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setIsSlow(true), SHOW_AFTER_MS);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div className="loading" role="status">
      {isSlow && (
        <>
          <span className="loading-bar" />
          <span>Loading {what}…</span>
        </>
      )}
    </div>
  );
}
