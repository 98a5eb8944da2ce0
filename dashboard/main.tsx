import { render } from 'preact';

function App() {
  return <h1>Dropforge</h1>;
}

render(<App />, document.body);
