/**
 * What bundles have in place of the cache of the SDK's endpoint discovery (cdk/bundling.ts), which
 * brings a library of data structures with it, 8 KiB. DynamoDB's client asks it before each request,
 * and needs nothing of it: every region's endpoint serves the tables of that region.
 */
export class EndpointCache {
  /** Nothing was discovered: the request goes to the endpoint of the region. */
  getEndpoint(): undefined {}

  /** In the SDK's words a discovery that is under way already, so that none is begun. */
  get(): { Address: string }[] {
    return [{ Address: '' }];
  }
}
