/** Stack traces for authors: the frames of this package say nothing to them, and would show where it is installed. */
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const OWN_FRAME = new RegExp(`\\n[^\\n]*${ROOT.replace(/[^\w]/g, '\\$&')}(src|dist)/[^\\n]*`, 'g');

export const withoutOwnFrames = (stack: string): string => stack.replace(OWN_FRAME, '');
