#!/bin/bash
pip install torch==2.9.1 --index-url https://download.pytorch.org/whl/rocm6.4
pip install -r requirements.txt
