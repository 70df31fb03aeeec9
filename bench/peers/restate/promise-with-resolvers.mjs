// The SDK calls Promise.withResolvers, which Node has from version 22 on. Import this before the SDK.
Promise.withResolvers ??= function withResolvers() {
  const settlers = {};
  const promise = new this((resolve, reject) => Object.assign(settlers, { resolve, reject }));
  return { promise, ...settlers };
};
