/** A request that a service perimeter denied (VPC Service Controls docs, "Retrieve errors from audit logs"). */
export type PerimeterDenial = {
  /** By which the denial is found in the audit logs of the organization; null if the answer has none. */
  readonly uniqueId: string | null;
};

/**
 * The identifier as in JSON (`google.rpc.ErrorInfo`), in a sentence, and in the details of the XML API of Cloud
 * Storage.
 */
const UNIQUE_ID = /vpcServiceControlsUniqueIdentifier["']?\s{0,3}[:=]\s{0,3}["']?([\w-]{6,128})/;
const DENIED =
  /Request is prohibited by organization(?:'|&#39;|\\u0027)s policy|SECURITY_POLICY_VIOLATED|Request violates VPC Service Controls/;

/** The denial that an answer of a Google API reports; null for any other answer. */
export function findPerimeterDenial(answer: string): PerimeterDenial | null {
  const uniqueId = UNIQUE_ID.exec(answer)?.[1] ?? null;
  return uniqueId !== null || DENIED.test(answer) ? { uniqueId } : null;
}

/** One sentence for messages; `what` is the request: `the download of gs://bucket/package.tar.gz`. */
export function describeDenial(what: string, { uniqueId }: PerimeterDenial): string {
  const id = uniqueId === null ? '' : `, with the unique id ${uniqueId}`;
  return `VPC Service Controls denied ${what}${id}.`;
}

/** The advice about a denial. */
export const PERIMETER_REMEDY =
  'Find the unique id in the audit logs of the organization, then add an ingress or egress rule for the account and service that the entry names, or use a resource inside the perimeter (docs/rights.md, "VPC Service Controls").';
