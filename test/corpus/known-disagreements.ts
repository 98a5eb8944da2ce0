/** Cases in which the independent reader is considered wrong, with the reason, by `file what`. */
export const KNOWN_DISAGREEMENTS: Readonly<Record<string, string>> = {
  '163.yaml cluster':
    'The file is rejected for its unknown fields; its machines are shown nevertheless, as for every rejected file.',
  '252.yaml trials': 'maxTrials is absent and defaults to 1 (HyperparameterSpec.maxTrials).',
  '256.yaml trials': 'maxTrials is absent and defaults to 1 (HyperparameterSpec.maxTrials).',
  '273.json verdict':
    'base_output_directory beside camelCase names is right: the JSON form of protocol buffers takes either spelling of every field (protobuf.dev, "ProtoJSON format"), and so does the API.',
};
