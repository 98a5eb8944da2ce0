/** One adapter over a fresh, empty state. */
export type StoreUnderTest<Store> = {
  readonly store: Store;
  /** Another connection to the same state, as another process would have it; the first one stays open. */
  connect(): Promise<Store>;
  close(): Promise<void>;
};

export type OpenStore<Store> = () => Promise<StoreUnderTest<Store>>;
