from setuptools import setup

setup(name="demo", install_requires=open("requirements.txt").read().splitlines())
