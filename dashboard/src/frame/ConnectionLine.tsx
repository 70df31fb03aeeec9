import { isConnected } from '../app/connection.js';
import { useStore } from '../app/store.js';

/** A thin line while the server does not answer. It goes away by itself, and what is shown stays. */
export function ConnectionLine() {
  const isThere = useStore(isConnected);
  return (
    <div className="connection" role="status">
      {!isThere && (
        <p>The server does not answer. What you see may be old; this page goes on when it is back.</p>
      )}
    </div>
  );
}
