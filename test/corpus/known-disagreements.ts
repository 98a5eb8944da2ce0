/** Where the second reader is taken to be wrong, and why: `file what`. */
export const KNOWN_DISAGREEMENTS: Readonly<Record<string, string>> = {
  '163.yaml cluster':
    'The file is refused for its unknown fields; the machines that it names are shown all the same, as in every refused file.',
  '252.yaml trials': 'maxTrials is not said, and 1 by default (HyperparameterSpec.maxTrials).',
  '256.yaml trials': 'maxTrials is not said, and 1 by default (HyperparameterSpec.maxTrials).',
  '273.json verdict':
    'base_output_directory beside camelCase names is right: the JSON form of protocol buffers takes either spelling of every field (protobuf.dev, "ProtoJSON format"), and so does the API.',
};
