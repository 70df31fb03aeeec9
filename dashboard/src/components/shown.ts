/**
 * Whether a dialog or form is still there when the answer comes to what it has sent. Whoever has left it meanwhile is told by a
 * notice how that ended, and is not led away from where they are now.
 */
import { type RefObject, useEffect, useRef } from 'react';

export function useIsShown(): RefObject<boolean> {
  const isShown = useRef(true);
  useEffect(() => {
    isShown.current = true;
    return () => {
      isShown.current = false;
    };
  }, []);
  return isShown;
}
