from setuptools import find_packages, setup

setup(
    name='digits',
    version='0.1.0',
    description='Learns to recognize handwritten digits with only the standard library.',
    python_requires='>=3.9',
    packages=find_packages(include=['trainer', 'trainer.*']),
    package_data={'trainer': ['digits.csv.gz', 'ORIGIN.md']},
    extras_require={'fast': ['numpy']},
)
