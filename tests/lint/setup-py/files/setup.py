from setuptools import find_packages, setup

REQUIRED = ["transformers>=4.50", "torch==2.4.0"]
extras = {}
extras["gpu"] = ["flash-attn==2.5.8"]

with open("README") as page:
    about = page.read()

setup(name="trainer", version="1", packages=find_packages(), install_requires=REQUIRED, extras_require=extras, long_description=about)
