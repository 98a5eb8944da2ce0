/** An adapter with new, empty state. */
export type StoreUnderTest<Store> = {
  readonly store: Store;
  /** Opens another connection to the same state, as another process would; the first one stays open. */
  connect(): Promise<Store>;
  close(): Promise<void>;
};

export type OpenStore<Store> = () => Promise<StoreUnderTest<Store>>;
