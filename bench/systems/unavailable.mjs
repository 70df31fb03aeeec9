/** A system that cannot be had on this machine; the message says what to install. */
export class Unavailable extends Error {}
