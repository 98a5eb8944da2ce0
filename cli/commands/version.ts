import type { Command } from '#cli/core/command.ts';
import { PRODUCT_ROOT } from '#infra/product-root.ts';
import packageFile from '#package.json' with { type: 'json' };

export const version: Command = {
  operands: [],
  flags: [],
  async run({ print }) {
    const platform = `${process.platform} ${process.arch}`;
    const json = { version: packageFile.version, node: process.version, platform, directory: PRODUCT_ROOT };
    print({
      json,
      text: `dropforge ${json.version}\nNode.js   ${json.node}\nplatform  ${platform}\ndirectory ${PRODUCT_ROOT}`,
    });
    return 0;
  },
};
