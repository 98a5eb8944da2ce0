"""The direction of imports between the agent's packages, which keeps them free of cycles."""

import ast
import importlib.util
import sys
import sysconfig
import unittest
from pathlib import Path
from typing import Iterator, List, Optional

AGENT = Path(__file__).resolve().parents[1]
# A package imports only itself and the packages before it.
PACKAGES = (
    'http', 'logs', 'program', 'paths',
    'storage.transfer', 'storage.directory', 'storage.output', 'storage.cluster',
    'storage.restore', 'storage',
    'metrics.samples', 'metrics.series', 'metrics.sources', 'metrics',
    'cache', 'setup', 'health', 'container', 'shell', 'control',
)  # fmt: skip


def modules() -> Iterator[Path]:
    return (path.relative_to(AGENT) for path in sorted((AGENT / 'vm_agent').rglob('*.py')))


def imports_of(module: Path) -> List[str]:
    tree = ast.parse((AGENT / module).read_text('utf-8'), str(module))
    names = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            # In `from vm_agent.storage.transfer import crc32c`, the imported name is a module of the same package.
            names.append('.' * node.level + (node.module or ''))
    return names


def package_of(name: str) -> Optional[str]:
    """Returns the package of a module of the agent, by its dotted name; None for those that are in no package."""
    found = [package for package in PACKAGES if f'{name}.'.startswith(f'vm_agent.{package}.')]
    return max(found, key=len, default=None)


class ImportsTest(unittest.TestCase):
    def test_every_folder_is_a_package_of_the_list(self) -> None:
        folders = {'.'.join(module.parts[1:-1]) for module in modules()} - {''}
        self.assertEqual(folders, set(PACKAGES))
        for name in PACKAGES:
            self.assertTrue((AGENT / 'vm_agent' / name.replace('.', '/') / '__init__.py').is_file(), name)

    def test_a_package_imports_only_itself_and_the_packages_before_it(self) -> None:
        for module in modules():
            package = package_of('.'.join(module.with_suffix('').parts))
            allowed = PACKAGES if package is None else PACKAGES[: PACKAGES.index(package) + 1]
            for name in imports_of(module):
                with self.subTest(f'{module} imports {name}'):
                    self.assertFalse(name.startswith('.'), 'imports are absolute')
                    if name.split('.')[0] == 'vm_agent':
                        self.assertIn(package_of(name), (*allowed, package))

    def test_only_the_standard_library_is_imported(self) -> None:
        # The plugin of MLflow runs in the program's interpreter.
        own = [module for module in modules() if module.name != 'mlflow_plugin.py']
        roots = {name.split('.')[0] for module in own for name in imports_of(module)} - {'vm_agent'}
        for root in sorted(roots - set(sys.builtin_module_names)):
            spec = importlib.util.find_spec(root)
            origin = (spec and spec.origin) or ''
            is_standard = origin == 'frozen' or origin.startswith(sysconfig.get_paths()['stdlib'])
            self.assertTrue(is_standard and 'site-packages' not in origin, f'{root} from {origin}')


if __name__ == '__main__':
    unittest.main()
