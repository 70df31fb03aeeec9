/**
 * Which addresses the HTTP helpers may reach. Their URLs often come from callers, and a worker stands in a network
 * that callers do not: its own machine, the services beside it, the cloud's metadata. So they reach public addresses
 * only, unless the operator allows more.
 */
import { BlockList, isIP, isIPv4 } from 'node:net';
import { networkInterfaces } from 'node:os';

/** `all` and `none` of the private addresses, or those in the networks that are listed, such as `10.1.0.0/16`. */
export type PrivateAddresses = 'all' | 'none' | readonly string[];

/** Address and length of the prefix: everything that is not reached over the public internet. */
const NOT_PUBLIC_V4: [string, number][] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
];

/** Of IPv6 this is public; within it, what carries addresses of IPv4 or is only for books is not. */
const PUBLIC_V6: [string, number] = ['2000::', 3];
const NOT_PUBLIC_V6: [string, number][] = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
];

const notPublic = new BlockList();
for (const [address, prefix] of NOT_PUBLIC_V4) notPublic.addSubnet(address, prefix, 'ipv4');
for (const [address, prefix] of NOT_PUBLIC_V6) notPublic.addSubnet(address, prefix, 'ipv6');
const publicV6 = new BlockList();
publicV6.addSubnet(...PUBLIC_V6, 'ipv6');

/** Whether anybody on the internet would reach the same machine under the address, and it is not this one. */
export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !notPublic.check(address, 'ipv4') && !isOwnAddress(address);
  if (isIP(address) === 0 || address.includes('%')) return false;
  return publicV6.check(address, 'ipv6') && !notPublic.check(address, 'ipv6') && !isOwnAddress(address);
}

function isOwnAddress(address: string): boolean {
  return Object.values(networkInterfaces()).some((each) => each?.some((own) => own.address === address));
}

/** @throws when a network is none, with words for whoever wrote it */
export function addressPolicy(allowed: PrivateAddresses): (address: string) => boolean {
  if (allowed === 'all') return () => true;
  if (allowed === 'none') return isPublicAddress;
  const listed = new BlockList();
  for (const network of allowed) {
    const [address = '', prefix, ...more] = network.split('/');
    const family = isIPv4(address) ? 'ipv4' : 'ipv6';
    const bits = family === 'ipv4' ? 32 : 128;
    const length = prefix === undefined ? bits : /^\d{1,3}$/.test(prefix) ? Number(prefix) : -1;
    if (isIP(address) === 0 || length < 0 || length > bits || more.length > 0) {
      throw new Error(`"${network}" is not an address or a network such as 10.1.0.0/16`);
    }
    listed.addSubnet(address, length, family);
  }
  return (address) => isPublicAddress(address) || listed.check(address, isIPv4(address) ? 'ipv4' : 'ipv6');
}
