#!/bin/bash
set -e
pip install torch==2.9.1 transformers
