/** Pairs of regions behind one name (Cloud Storage docs, "Bucket locations"). */
const DUAL_REGIONS: Readonly<Record<string, readonly string[]>> = {
  asia1: ['asia-northeast1', 'asia-northeast2'],
  eur4: ['europe-north1', 'europe-west4'],
  nam4: ['us-central1', 'us-east1'],
};

/** US dollars per GiB within and from a continent (cloud.google.com/storage/pricing, "Data transfer within Google Cloud"). */
const CONTINENTS: readonly (readonly [locations: RegExp, within: number, across: number])[] = [
  [/^(us|nam\d|northamerica)/, 0.02, 0.05],
  [/^eu/, 0.02, 0.05],
  [/^asia-southeast2$/, 0.08, 0.1],
  [/^asia/, 0.08, 0.08],
  [/^australia/, 0.08, 0.1],
  [/^me-/, 0.08, 0.11],
  [/^africa/, 0.11, 0.11],
  [/^southamerica/, 0.14, 0.14],
];

/** Between a bucket and VMs; null if unknown. A multi-region costs as much as another region of its continent. */
export function transferPerGibUsd(bucket: { location: string; regions: readonly string[] }, region: string) {
  if ([bucket.location, ...bucket.regions, ...(DUAL_REGIONS[bucket.location] ?? [])].includes(region)) {
    return 0;
  }
  const from = CONTINENTS.find(([locations]) => locations.test(bucket.location));
  const to = CONTINENTS.find(([locations]) => locations.test(region));
  return from === undefined || to === undefined ? null : from === to ? from[1] : Math.max(from[2], to[2]);
}
