/** Stack traces for authors: the frames of this package say nothing to them, and would show where it is installed. */
import { fileURLToPath } from 'node:url';

/** Modules stand in traces by their URLs, where spaces and their like are written otherwise. */
const ROOT = new URL('../../..', import.meta.url);
const ROOTS = [fileURLToPath(ROOT), ROOT.pathname].map((path) => path.replace(/[^\w]/g, '\\$&')).join('|');
const OWN_FRAME = new RegExp(`\\n[^\\n]*(?:${ROOTS})(src|dist)/[^\\n]*`, 'g');

export const withoutOwnFrames = (stack: string): string => stack.replace(OWN_FRAME, '');
