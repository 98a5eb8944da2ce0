import { Component, type ComponentChild, type FunctionComponent, h } from 'preact';

/** A component that renders again only if one of its properties is another value. */
export function memo<Props extends object>(Inner: FunctionComponent<Props>): new (props: Props) => Component<Props> {
  return class Memo extends Component<Props> {
    override shouldComponentUpdate(next: Readonly<Props>): boolean {
      const [before, after] = [Object.entries(this.props), Object.entries(next)];
      return before.length !== after.length || after.some(([name, value]) => this.props[name as keyof Props] !== value);
    }

    override render(): ComponentChild {
      return h(Inner, this.props as Props);
    }
  };
}
